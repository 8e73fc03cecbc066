"""As good as possible for the worst head, near the average gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from ._method import Mixing
from ._solvers import (
    Correlation,
    Pivoting,
    correlation,
    may_stop_early,
    pivot_bound,
    rounding,
    solve_on_face,
)


class CAGrad(Mixing):
    r"""The direction that is best for the worst head within a ball around the mean gradient.

    .. math:: d = \arg\max_d \min_t \langle g_t, d \rangle
              \quad \text{with } \|d - g_0\| \le c \|g_0\|, \; g_0 = \tfrac1T \textstyle\sum_t g_t

    By duality :math:`d = g_0 + \lambda g_w` with :math:`g_w = \sum_t w_t g_t` on the simplex and
    :math:`\lambda = c \|g_0\| / \|g_w\|`. Every face of the simplex has a closed form, so the
    solution is exact. ``c = 0`` is the mean gradient; a large c gives the direction of MGDA.

    Liu et al., "Conflict-Averse Gradient Descent for Multi-task Learning", NeurIPS 2021.

    Args:
        c: How far from the mean the direction may go, in units of its length.
    """

    def __init__(self, c: float = 0.4) -> None:
        super().__init__()
        if not c >= 0:
            raise ValueError(f"c should be a number >= 0, such as 0.4. Found {c!r}.")
        self.c = c

    def mixing(self, gram: Tensor, /) -> Tensor:
        r = correlation(gram)
        active = r.active.to(r.matrix.dtype)
        number = active.sum(-1, keepdim=True).clamp(min=1)
        pull = _pull(r, number, self.c)
        # Every active head is worth 1 / T of the mean, and carries 1 / T of the common correction.
        rows = torch.diag_embed(active) + active.unsqueeze(-1) * pull.unsqueeze(-2)
        return (rows / number.unsqueeze(-1)).to(gram.dtype)

    def extra_repr(self) -> str:
        return f"c={self.c}"


def _pull(r: Correlation, number: Tensor, c: float) -> Tensor:
    r"""The vector :math:`\lambda w`, in units where the mean gradient is one long.

    With v = lambda S w the conditions of the optimum are those of a complementarity problem,
    v >= 0, R v + q - y a >= 0, and v'Rv = k^2 fixes the common value y of <g_t, d>.
    On a face both are linear in y, and y is the root of a quadratic.
    """
    projections = (r.matrix @ r.norms.unsqueeze(-1)).squeeze(-1)  # <g_t, T g_0> / |g_t|
    length = (r.norms * projections).sum(-1, keepdim=True).clamp(min=0).sqrt()  # |T g_0|
    reach = r.norms.sum(-1, keepdim=True)
    exists = length > reach * (r.ridge**0.5)  # no mean gradient, no ball around it
    q = projections / length.where(exists, 1.0)
    a = r.inverse_norms()
    v = _best_in_ball(r, q, a, c) if c > 0 else torch.zeros_like(q)
    return torch.where(exists, v * (length / number) * _inverse(r), 0.0)


def _inverse(r: Correlation) -> Tensor:
    return torch.where(r.active, 1 / r.norms, 0.0)


def _best_in_ball(r: Correlation, q: Tensor, a: Tensor, k: float) -> Tensor:
    pivoting = Pivoting(r.active)
    both = torch.stack([a, q], -1)
    v = torch.zeros_like(q)
    for _ in range(pivot_bound(q)):
        face = pivoting.face
        u, p = solve_on_face(r.matrix, both, face, r.ridge).unbind(-1)
        aa, ap, pp = (a * u).sum(-1, True), (a * p).sum(-1, True), (q * p).sum(-1, True)
        root = (ap.square() - aa * (pp - k * k)).clamp(min=0).sqrt()
        y = (ap + root) / aa.where(aa > 0, 1.0)
        v = y * u - p
        slack = (r.matrix @ v.unsqueeze(-1)).squeeze(-1) + q - y * a
        tolerance = rounding(v, q)
        wrong = torch.where(face, v < -tolerance, (slack < -tolerance) & r.active)
        if may_stop_early(q) and not wrong.any():
            break
        pivoting.update(wrong)
    return v.clamp(min=0)
