"""The Nash bargaining solution among the heads."""

from __future__ import annotations

import torch
from torch import Tensor

from ._method import Scaling
from ._solvers import Correlation, correlation, host_reads_are_free, solve_positive, times

ROUNDS = 20


class NashMTL(Scaling):
    r"""The direction on which heads that bargain for their own gain agree.

    .. math:: G w = 1 / w, \quad w > 0, \qquad \text{the minimum of }
              \tfrac12 w^\top G w - \textstyle\sum_t \log w_t

    The direction does not change when a head's gradient is scaled. Newton's method along the curves
    :math:`w_t (G w)_t = 1` solves it to machine precision. Bargaining leaves the length open; the
    sum gets the length :math:`(\sum_t \|g_t\|^2)^{1/2}`, which is that of the plain sum for orthogonal
    gradients.

    Navon et al., "Multi-Task Learning as a Bargaining Game", ICML 2022.
    """

    def weights(self, gram: Tensor, /) -> Tensor:
        r = correlation(gram)
        u = _bargain(r)
        number = r.active.sum(-1, keepdim=True).clamp(min=1)
        length = (r.norms.square().sum(-1, keepdim=True) / number).sqrt()
        return (u * length * r.inverse).to(gram.dtype)


def _bargain(r: Correlation) -> Tensor:
    """Solve R u = f with u f = 1. Along every ray the point is known: u'Ru = T.

    Newton's method along the curves u f = 1, as in FairGrad: the place on a curve is u - f, in which both are nearly
    linear. Gradients that nearly cancel have weights of very different size, to which steps in u come only slowly.
    """
    matrix = r.matrix + torch.diag_embed(torch.full_like(r.norms, r.ridge))
    number = r.norms.shape[-1]
    identity = torch.eye(number, dtype=matrix.dtype, device=matrix.device)
    u = torch.ones_like(r.norms)
    for _ in range(ROUNDS):
        force = times(matrix, u)
        stretch = (number / (u * force).sum(-1, keepdim=True)).sqrt()
        u, force = u * stretch, force * stretch
        # in relative steps, which make the system diag(u) R diag(u) + I well behaved
        system = matrix * u.unsqueeze(-1) * u.unsqueeze(-2) + identity
        step = solve_positive(system, (1 - u * force).unsqueeze(-1)).squeeze(-1)
        inverse = 1 / u
        difference = u - inverse + step * (u + inverse)
        u = (difference / 2).asinh().exp()  # the u with this u - 1 / u
        if host_reads_are_free(u) and not (step.abs() > 1e-8).any():  # the next one would square it
            break
    return u
