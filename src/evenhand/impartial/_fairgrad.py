"""Fairness among the heads, from the plain sum to the best for the worst."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._method import Scaling
from ._solvers import Correlation, correlation, host_reads_are_free, solve_positive, times

ROUNDS = 20
CURVE_ROUNDS = 8


class FairGrad(Scaling):
    r"""The direction that is alpha-fair to the gains :math:`\langle g_t, d \rangle` of the heads.

    .. math:: G w = w^{-1/\alpha}, \quad w > 0, \qquad \text{the direction of }
              \max_d \textstyle\sum_t \frac{\langle g_t, d \rangle^{1-\alpha}}{1 - \alpha}
              \text{ within a ball}

    A small alpha comes near the plain sum, as far as that opposes no head; ``alpha = 1`` is Nash-MTL; a large alpha
    makes the least gain as large as possible. The equation is solved to machine precision. Its solution does not grow
    in proportion to the losses, so the sum gets the length :math:`(\sum_t \|g_t\|^2)^{1/2}` instead, which is that of
    the plain sum for orthogonal gradients.

    Ban and Ji, "Fair Resource Allocation in Multi-Task Learning", ICML 2024.

    Args:
        alpha: How much a head with a small gain counts.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        if not 0 < alpha < math.inf:
            raise ValueError(f"alpha should be a number > 0, such as 2.0. Found {alpha!r}.")
        self.alpha = alpha

    def weights(self, gram: Tensor, /) -> Tensor:
        r = correlation(gram)
        u, force = _allocate(r, 1 / self.alpha)
        square = (u * force * r.active).sum(-1, keepdim=True)  # u'Ru, which cannot be negative in this form
        length = (r.norms.square().sum(-1, keepdim=True) / (square + (square == 0))).sqrt()
        return (u * length * r.inverse).to(gram.dtype)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"


def _allocate(r: Correlation, p: float) -> tuple[Tensor, Tensor]:
    """Solve R u = f with u^p f = b for the weights u of unit gradients and their gains f, where b = norms^(p - 1).

    Newton's method on R u = f along the curves u^p f = b. The place on a curve is measured by u - f, in which u and f
    are nearly linear wherever one of them is much larger than the other, so that few rounds suffice.
    """
    matrix = r.matrix + torch.diag_embed(torch.full_like(r.norms, r.ridge))
    largest = r.norms.amax(-1, keepdim=True)
    log_b = (p - 1) * (r.norms / (largest + (largest == 0)) + (1 - r.active)).log()
    log_u = log_f = log_b / (1 + p)  # the solution for orthogonal gradients
    for _ in range(ROUNDS):
        log_u, log_f = _stretched(matrix, log_u, log_f, p)
        u, force = log_u.exp(), log_f.exp()
        # the slopes of u and -f along the curve; they add up to one
        ratio = log_u - log_f - math.log(p)
        rising, falling = ratio.sigmoid(), (-ratio).sigmoid()
        step = _newton(matrix, times(matrix, u) - force, rising, falling)
        log_u, log_f = _on_curve(u - force + step, log_b, p)
        if host_reads_are_free(u) and not (step.abs() > 1e-8 * (u + force)).any():  # the next one would square it
            break
    return log_u.exp(), log_f.exp()


def _stretched(matrix: Tensor, log_u: Tensor, log_f: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """The point of the ray through u at which the gains add up: u'Ru = u'f."""
    u = log_u.exp()
    ratio = (u * log_f.exp()).sum(-1, keepdim=True) / (u * times(matrix, u)).sum(-1, keepdim=True)
    shift = ratio.log() / (1 + p)
    return log_u + shift, log_f - p * shift


def _newton(matrix: Tensor, residual: Tensor, rising: Tensor, falling: Tensor) -> Tensor:
    """Solve (R diag(rising) + diag(falling)) step = -residual, made symmetric; its diagonal is one."""
    root = rising.sqrt()
    symmetric = matrix * root.unsqueeze(-1) * root.unsqueeze(-2) + torch.diag_embed(falling)
    half = solve_positive(symmetric, -(root * residual).unsqueeze(-1)).squeeze(-1)  # root * step
    # of the two ways back, the one that divides by the larger number
    return torch.where(rising > 0.5, half / root, -(residual + times(matrix, root * half)) / falling)


def _on_curve(difference: Tensor, log_b: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """log u and log f with u^p f = b and u - f given.

    With x the larger of the two, x - c / x^q = |u - f|, which is concave and increasing in x: from any point below
    the root, Newton's method rises to it.
    """
    u_is_larger = difference >= 0
    power = torch.full_like(difference, p)
    q, log_c = torch.where(u_is_larger, power, 1 / power), torch.where(u_is_larger, log_b, log_b / p)
    goal = difference.abs()
    x = torch.maximum(goal, (log_c / (1 + q)).exp())
    for _ in range(CURVE_ROUNDS):
        smaller = (log_c - q * x.log()).exp()
        x = x + (goal - x + smaller) / (1 + q * smaller / x)
    log_x = x.log()
    log_smaller = log_c - q * log_x
    return torch.where(u_is_larger, log_x, log_smaller), torch.where(u_is_larger, log_smaller, log_x)
