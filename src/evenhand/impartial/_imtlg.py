"""Equal projections on every gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from ._eigen import solve_least_norm
from ._method import Scaling
from ._solvers import correlation


class IMTLG(Scaling):
    r"""The combination whose projections on all gradients are equal.

    .. math:: \langle \textstyle\sum_s w_s g_s,\; g_t / \|g_t\| \rangle = \text{const for all } t,
              \qquad \sum_t w_t = 1

    With the correlations R of the gradients and their norms n, :math:`w \propto (R^{-1} 1) / n`.
    Weights can be negative. If R is singular (more heads than features, two heads that say the same)
    the solution of least norm is taken; where no combination has equal projections, as for two
    opposite gradients, the projections are as equal as can be.

    Liu et al., "Towards Impartial Multi-task Learning", ICLR 2021.
    """

    def weights(self, gram: Tensor, /) -> Tensor:
        r = correlation(gram)
        ones = r.active.to(r.matrix.dtype)
        beta = solve_least_norm(r.matrix, ones, r.ridge)
        w = beta * r.inverse_norms()
        total = w.sum(-1, keepdim=True)
        # opposite gradients: R 1 = 0, nothing has equal projections, and there is nothing to normalise
        settled = total.abs() > r.ridge * w.abs().sum(-1, keepdim=True)
        return torch.where(settled, w / total, w).to(gram.dtype)
