"""As good as possible for the worst head, near the average gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from ._method import Mixing
from ._solvers import Correlation, correlation, may_stop_early, solve_on_face


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
    r"""The vector :math:`\lambda w` that is added to the mean gradient."""
    projections = (r.matrix @ r.norms.unsqueeze(-1)).squeeze(-1)  # <g_t, T g_0> / |g_t|
    length = (r.norms * projections).sum(-1, keepdim=True).clamp(min=0).sqrt()  # |T g_0|
    exists = length > r.norms.sum(-1, keepdim=True) * r.ridge**0.5  # no mean, no ball around it
    q = projections / length.where(exists, 1.0)
    v = _best_in_ball(r, q, c) if c > 0 else torch.zeros_like(q)
    inverse = torch.where(r.active, 1 / r.norms, 0.0)
    return torch.where(exists, v * (length / number) * inverse, 0.0)


def _best_in_ball(r: Correlation, q: Tensor, k: float) -> Tensor:
    r"""Solve in units where the mean gradient is one long, with :math:`v = \lambda S w`.

    The optimum satisfies v >= 0, R v + q - y a >= 0, complementary, with a = 1 / norms, y the common value
    of <g_t, d> and v'Rv = k^2. From the y at which v = 0 the solution is followed as y grows: between the
    points where an unknown becomes free or zero it is linear in y, v = y u - p, and the y that fulfils
    v'Rv = k^2 is the root of a quadratic. Where gradients cancel, y cannot grow further and the ball is
    larger than need be.
    """
    a = r.inverse_norms()
    both = torch.stack([a, q], -1)
    index = torch.arange(q.shape[-1], device=q.device)
    start = torch.where(r.active, q / a.where(r.active, 1.0), torch.inf)
    face = moved = r.active & (index == start.argmin(-1, keepdim=True))
    v = torch.zeros_like(q)
    done = torch.zeros_like(face[..., :1])
    for _ in range(10 * len(index) if may_stop_early(q) else 2 * len(index)):
        solution = solve_on_face(r.matrix, both, face, r.ridge)
        (u, p), (ru, rp) = solution.unbind(-1), (r.matrix @ solution).unbind(-1)
        aa, ap, pp = (a * u).sum(-1, True), (a * p).sum(-1, True), (q * p).sum(-1, True)
        root = (ap.square() - aa * (pp - k * k)).clamp(min=0).sqrt()
        end = (ap + root) / aa.where(aa > 0, 1.0)
        # an unknown becomes zero where v_t = y u_t - p_t falls to 0, and free where its slack does
        falls = torch.where(face, u < 0, (ru < a) & r.active) & ~moved
        zero = torch.where(face, p, q - rp) / torch.where(face, u, a - ru).where(falls, 1.0)
        events = torch.where(falls, zero, torch.inf)
        first = events.amin(-1, keepdim=True)
        done = done | (aa < 4 * r.ridge * u.abs().sum(-1, True).square())  # gradients on the face cancel
        v = torch.where(done, v, torch.minimum(end, first) * u - p)
        done = done | (end <= first)
        if may_stop_early(q) and done.all():
            break
        moved = (index == events.argmin(-1, keepdim=True)) & ~done
        face = face ^ moved
    return v.clamp(min=0)
