"""Exact solvers for T x T problems, batched over leading axes and free of host synchronisation.

All of them work in correlation form: heads are divided by their norms first, so that gradients of very
different size, or an AMP loss scale, change nothing. A head without gradient takes no part.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Correlation(NamedTuple):
    """A Gram matrix G = S R S split into norms S and correlations R, in double precision."""

    matrix: Tensor  # R [..., T, T]; the row of a head without gradient is that of the identity
    norms: Tensor  # [..., T]
    active: Tensor  # [..., T], whether the head has a gradient
    ridge: float  # the rounding error of R, to be added to its diagonal where R is inverted

    def inverse_norms(self) -> Tensor:
        """1 / norms relative to the smallest one, so in [0, 1]; 0 for heads without gradient."""
        infinity = torch.full_like(self.norms, torch.inf)
        smallest = torch.where(self.active, self.norms, infinity).amin(-1, keepdim=True)
        return torch.where(self.active, smallest / self.norms, 0.0)


def correlation(gram: Tensor) -> Correlation:
    """Split a Gram matrix ``[..., T, T]`` into norms and correlations."""
    precise = gram.to(solve_dtype(gram))
    norms = precise.diagonal(dim1=-2, dim2=-1).sqrt()
    active = norms > 0
    # NaN is not > 0, but a head with a NaN gradient must not pass for one without gradient
    inverse = torch.where(norms == 0, 0.0, 1 / norms)
    matrix = precise * inverse.unsqueeze(-1) * inverse.unsqueeze(-2)
    matrix = matrix + torch.diag_embed((norms == 0).to(matrix.dtype))
    ridge = 4 * gram.shape[-1] * torch.finfo(gram.dtype).eps
    return Correlation(matrix, norms, active, ridge)


def solve_dtype(tensor: Tensor) -> torch.dtype:
    """Double precision: T x T problems are tiny. One kind of device has none."""
    return torch.float32 if tensor.device.type == "mps" else torch.float64


def may_stop_early(tensor: Tensor) -> bool:
    """Whether reading a result on the host is free: then loops end when done, not at their bound."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def solve_positive(matrix: Tensor, right: Tensor) -> Tensor:
    """Solve a positive definite system ``[..., T, T] x = [..., T, k]``.

    These two calls, unlike `torch.linalg.solve` or `torch.cholesky_solve`, neither synchronise with
    the host nor break the capture of a CUDA graph, at any batch size.
    """
    lower = torch.linalg.cholesky_ex(matrix)[0]
    half = torch.linalg.solve_triangular(lower, right, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)


def solve_on_face(matrix: Tensor, right: Tensor, face: Tensor, ridge: float) -> Tensor:
    """Solve with the rows and columns in a face only; the other unknowns are zero."""
    inside = face.to(matrix.dtype)
    reduced = matrix * inside.unsqueeze(-1) * inside.unsqueeze(-2)
    reduced = reduced + torch.diag_embed(1 - inside * (1 - ridge))
    return solve_positive(reduced, right * inside.unsqueeze(-1))


def solve_complementarity(matrix: Tensor, right: Tensor, ridge: float) -> Tensor:
    """Find x >= 0 with R x - b >= 0 and x (R x - b) = 0, for R ``[..., T, T]`` and b ``[..., T]``.

    It is the minimum of x'Rx / 2 - b'x over x >= 0. Which unknowns are zero is found by pivoting, in a few
    rounds as a rule; where gradients are linearly dependent a descent finishes the work.
    """
    x, solved = _pivot(matrix, right, ridge)
    return x if solved else _descend(matrix, right, x, ridge)


PIVOTS = 12  # random problems of 50 heads need at most 8
PATIENCE = 3


def _pivot(matrix: Tensor, right: Tensor, ridge: float) -> tuple[Tensor, bool]:
    """Block principal pivoting (Júdice and Pires, 1994): the last try, and whether all is known solved.

    All unknowns on the wrong side change sides at once while that helps, and only the last of them when it
    has not helped for a while.
    """
    face = right > 0  # the unknowns that are not fixed at zero
    fewest = torch.full_like(right[..., :1], right.shape[-1] + 1, dtype=torch.long)
    patience = torch.full_like(fewest, PATIENCE)
    index = torch.arange(right.shape[-1], device=right.device)
    x = torch.zeros_like(right)
    for _ in range(PIVOTS):
        x = solve_on_face(matrix, right.unsqueeze(-1), face, ridge).squeeze(-1)
        slack = (matrix @ x.unsqueeze(-1)).squeeze(-1) - right
        wrong = torch.where(face, x, slack) < -rounding(x, right)
        if may_stop_early(right) and not wrong.any():
            return x.clamp(min=0), True
        number = wrong.sum(-1, keepdim=True)
        patience = torch.where(number < fewest, PATIENCE, patience - 1)
        fewest = torch.minimum(number, fewest)
        last = wrong & (index == (index * wrong).amax(-1, keepdim=True))
        face = face ^ torch.where(patience >= 0, wrong, last)
    return x.clamp(min=0), False


def _descend(matrix: Tensor, right: Tensor, x: Tensor, ridge: float) -> Tensor:
    """The active-set method of Lawson and Hanson (1974), from a feasible start: it cannot cycle.

    A step goes to the minimum on the face, or as far as x stays >= 0, and the unknown that got in the way
    is fixed at zero; at the minimum the unknown with the steepest descent is set free.
    """
    face = x > 0
    size = right.shape[-1]
    index = torch.arange(size, device=right.device)
    for _ in range(10 * size if may_stop_early(right) else 2 * size):
        target = solve_on_face(matrix, right.unsqueeze(-1), face, ridge).squeeze(-1)
        tolerance = rounding(target, right)
        blocking = face & (target <= 0)
        room = torch.where(blocking, x / (x - target).clamp(min=tolerance / size), 1.0)
        step = room.amin(-1, keepdim=True).clamp(max=1)
        x = torch.where(face, x + step * (target - x), 0.0).clamp(min=0)
        stopped = blocking & (room <= step)
        slack = (matrix @ x.unsqueeze(-1)).squeeze(-1) - right
        falling = ~face & (slack < -tolerance)
        steepest = falling & (index == torch.where(falling, slack, torch.inf).argmin(-1, keepdim=True))
        at_minimum = ~blocking.any(-1, keepdim=True)
        moves = torch.where(at_minimum, steepest, stopped)
        if may_stop_early(right) and not moves.any():
            break
        face = face ^ moves
        x = torch.where(face, x, 0.0)
    return x


def rounding(*vectors: Tensor) -> Tensor:
    """How far below zero a number of a complementarity problem may be by rounding alone."""
    size = sum(v.abs().amax(-1, keepdim=True) for v in vectors)
    assert isinstance(size, Tensor)
    return 4 * vectors[0].shape[-1] * torch.finfo(size.dtype).eps * size
