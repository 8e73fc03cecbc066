"""As good as possible for the worst head, near the average gradient."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from . import _kernels
from ._method import Mixing
from ._solvers import SILENT, Correlation, correlation, host_reads_are_free, pivot, ridge_of, solve_on_face, times


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
        if not 0 <= c < math.inf:
            raise ValueError(f"c should be a number >= 0, such as 0.4. Found {c!r}.")
        self.c = c

    def mixing(self, gram: Tensor, /) -> Tensor:
        if self.c and _kernels.usable(gram):
            return _kernels.cagrad(gram, self.c, ridge_of(gram), SILENT)
        r = correlation(gram)
        number = r.active.sum(-1, keepdim=True).clamp(min=1)
        pull = _pull(r, number, self.c)
        # Every active head is worth 1 / T of the mean, and carries 1 / T of the common correction.
        rows = r.active.unsqueeze(-1) * pull.unsqueeze(-2)
        rows.diagonal(dim1=-2, dim2=-1).add_(r.active)
        return (rows / number.unsqueeze(-1)).to(gram.dtype)

    def extra_repr(self) -> str:
        return f"c={self.c}"


def _pull(r: Correlation, number: Tensor, c: float) -> Tensor:
    r"""The vector :math:`\lambda w` that is added to the mean gradient."""
    if c == 0:
        return torch.zeros_like(r.norms)
    projections = times(r.matrix, r.norms)  # <g_t, T g_0> / |g_t|
    length = (r.norms * projections).sum(-1, keepdim=True).clamp(min=0).sqrt()  # |T g_0|
    exists = length > r.norms.sum(-1, keepdim=True) * r.ridge**0.5  # no mean, no ball around it
    v = _best_in_ball(r, projections / length.where(exists, 1.0), c)
    # norms that differ by more than the digits of a double leave nothing of y u - p but rounding error
    reach = (v * times(r.matrix, v)).sum(-1, keepdim=True).clamp(min=0).sqrt()
    v = v / (reach / c).clamp(min=1)
    return v * torch.where(exists, length, 0.0) / number * r.inverse


def _best_in_ball(r: Correlation, q: Tensor, k: float) -> Tensor:
    r"""Solve in units where the mean gradient is one long, with :math:`v = \lambda S w`.

    The optimum satisfies v >= 0, R v + q - y a >= 0, complementary, with a = 1 / norms, y the common value
    of <g_t, d> and v'Rv = k^2. On a face, v = y u - p is linear in y and y is the root of a quadratic.
    """
    a = r.relative_inverse()
    face = Face(r, q, a, k)
    if host_reads_are_free(q):
        v, solved = pivot(r.active > 0, face.end)
        if solved.all():
            return v
    return _follow(r, q, a, face)


class Face:
    """The solution on a face: linear in y, up to the y where v'Rv = k^2."""

    def __init__(self, r: Correlation, q: Tensor, a: Tensor, k: float) -> None:
        self._r, self._q, self._a, self._k = r, q, a, k
        self._both = torch.stack([a, q], -1)

    def solve(self, face: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """u and p of v = y u - p, the y at the end, and 1 / |shortest vector in the face|^2."""
        solution = solve_on_face(self._r.matrix, self._both, face, self._r.ridge)
        u, p = solution.unbind(-1)
        products = (self._both.mT @ solution).flatten(-2)  # a'u, a'p, q'u, q'p
        aa, ap, pp = products[..., 0:1], products[..., 1:2], products[..., 3:4]
        root = (ap.square() - aa * (pp - self._k**2)).clamp(min=0).sqrt()
        return u, p, (ap + root) / (aa + (aa == 0)), aa

    def end(self, face: Tensor) -> tuple[Tensor, Tensor]:
        """The solution at the end, and its slack."""
        u, p, y, _ = self.solve(face)
        v = y * u - p
        return v, (times(self._r.matrix, v) + self._q - y * self._a) * self._r.active


def _follow(r: Correlation, q: Tensor, a: Tensor, face_of: Face) -> Tensor:
    """Follow the solution from the y at which v = 0 on, as y grows.

    Along the way unknowns become free or zero, one at a time, and in between all is linear. Where gradients
    cancel, y cannot grow further and the ball is larger than need be.
    """
    index = torch.arange(q.shape[-1], device=q.device)
    active = r.active > 0
    start = torch.where(active, q / (a + (a == 0)), torch.inf)
    face = moved = active & (index == start.argmin(-1, keepdim=True))
    v = torch.zeros_like(q)
    done = torch.zeros_like(face[..., :1])
    for _ in range(10 * len(index) if host_reads_are_free(q) else 2 * len(index)):
        u, p, end, aa = face_of.solve(face)
        ru, rp = times(r.matrix, u), times(r.matrix, p)
        # an unknown becomes zero where v_t = y u_t - p_t falls to 0, and free where its slack does
        falls = torch.where(face, u < 0, (ru < a) & active) & ~moved
        zero = torch.where(face, p, q - rp) / torch.where(face, u, a - ru).where(falls, 1.0)
        events = torch.where(falls, zero, torch.inf)
        first = events.amin(-1, keepdim=True)
        done = done | (aa < 4 * r.ridge * u.abs().sum(-1, True).square())  # gradients on the face cancel
        v = torch.where(done, v, torch.minimum(end, first) * u - p)
        done = done | (end <= first)
        if host_reads_are_free(q) and done.all():
            break
        moved = (index == events.argmin(-1, keepdim=True)) & ~done
        face = face ^ moved
    return v.clamp(min=0)
