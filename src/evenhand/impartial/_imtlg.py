"""Equal projections on every gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from ._method import Scaling
from ._solvers import correlation, solve_positive


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
        active = r.active.to(r.matrix.dtype)
        # least squares with a touch of Tikhonov: (R R + t I) beta = R 1 is R^+ 1 for singular R too
        squared = r.matrix @ r.matrix
        squared = squared + torch.diag_embed(torch.full_like(r.norms, r.ridge**2))
        beta = solve_positive(squared, r.matrix @ active.unsqueeze(-1)).squeeze(-1)
        w = beta * r.inverse_norms()
        total = w.sum(-1, keepdim=True)
        # opposite gradients: R 1 = 0, nothing has equal projections, and there is nothing to normalise
        settled = total.abs() > r.ridge * w.abs().sum(-1, keepdim=True)
        return torch.where(settled, w / total, w).to(gram.dtype)
