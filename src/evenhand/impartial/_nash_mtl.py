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

    The direction does not change when a head's gradient is scaled. Newton's method on this
    self-concordant function solves it to machine precision. Bargaining leaves the length open; the
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
    """Solve R u = 1 / u. Along every ray the minimum is known: u'Ru = T."""
    matrix = r.matrix + torch.diag_embed(torch.full_like(r.norms, r.ridge))
    number = r.norms.shape[-1]
    u = torch.ones_like(r.norms)
    for _ in range(ROUNDS):
        force = times(matrix, u)
        stretch = (number / (u * force).sum(-1, keepdim=True)).sqrt()
        u, force = u * stretch, force * stretch
        gradient = force - 1 / u
        # Newton in relative steps u (1 + step): the scaled Hessian diag(u) R diag(u) + I is well behaved
        hessian = matrix * u.unsqueeze(-1) * u.unsqueeze(-2)
        hessian = hessian + torch.eye(number, dtype=u.dtype, device=u.device)
        slope = u * gradient
        step = solve_positive(hessian, -slope.unsqueeze(-1)).squeeze(-1)
        decrement = -(slope * step).sum(-1, keepdim=True).clamp(max=0)
        damping = torch.where(decrement > 0.06, 1 / (1 + decrement.sqrt()), 1.0)
        u = u * (1 + damping * step).clamp(min=0.01)
        if host_reads_are_free(u) and not (decrement > 1e-14).any():  # the step just taken has squared it
            break
    return u
