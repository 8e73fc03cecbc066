"""Equal projections on every gradient."""

from __future__ import annotations

from torch import Tensor

from . import _settle_kernel
from ._eigen import solve_least_norm
from ._method import Scaling
from ._numbers import are_few, as_tensor
from ._settle_kernel import KernelStep
from ._solvers import correlation


class IMTLG(Scaling):
    r"""The combination whose projections on all gradients are equal.

    .. math:: \langle \textstyle\sum_s w_s g_s,\; g_t / \|g_t\| \rangle = \text{const} > 0
              \text{ for all } t, \qquad |\textstyle\sum_t w_t| = 1

    With the correlations R of the gradients and their norms n, :math:`w \propto (R^{-1} 1) / n`.
    Weights can be negative. So can be their sum, if norms differ much: dividing by it, as the published
    formula does, would reverse the direction and make all heads worse; Evenhand divides by its absolute
    value.
    If R is singular (more heads than features, two equal gradients) the solution of least norm is
    taken; where no combination has equal projections, as for two opposite gradients, they are as equal as
    possible.

    Liu et al., "Towards Impartial Multi-task Learning", ICLR 2021.
    """

    def kernel_step(self, like: Tensor, /) -> KernelStep:
        return KernelStep(_settle_kernel.IMTLG)

    def weights(self, gram: Tensor, /) -> Tensor:
        r = correlation(gram)
        u = solve_least_norm(r.matrix, r.active, r.ridge)
        if are_few(u):
            return as_tensor(_normalised(u.tolist(), r.inverse.tolist(), r.ridge), gram.dtype)
        w = u * r.relative_inverse()
        # two opposite gradients: w is zero to rounding, and there is nothing to normalise
        total = w.sum(-1, keepdim=True).abs().clamp(min=r.ridge)
        return (w / total).to(gram.dtype)


def _normalised(u: list[float], inverse: list[float], ridge: float) -> list[float]:
    """The same for one problem, in Python's numbers."""
    largest = max(inverse) or 1.0
    w = [a * i / largest for a, i in zip(u, inverse, strict=True)]
    total = max(abs(sum(w)), ridge)  # NaN if a weight is
    return [x / total for x in w]
