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


class Pivoting:
    """Block principal pivoting: which unknowns are zero at the solution of a complementarity problem.

    All wrong unknowns change sides at once while that helps, and only the last of them when it has
    not helped for a while, which ends always (Kim and Park, 2011; Murty, 1974).
    """

    PATIENCE = 3

    def __init__(self, face: Tensor) -> None:
        self.face = face
        count = face.shape[-1]
        self._fewest = torch.full_like(face[..., :1], count + 1, dtype=torch.long)
        self._patience = torch.full_like(self._fewest, self.PATIENCE)
        self._index = torch.arange(count, device=face.device)

    def update(self, wrong: Tensor) -> None:
        """Move unknowns that are on the wrong side."""
        number = wrong.sum(-1, keepdim=True)
        helped = number < self._fewest
        self._fewest = torch.minimum(number, self._fewest)
        self._patience = torch.where(helped, self.PATIENCE, self._patience - 1)
        last = wrong & (self._index == (self._index * wrong).amax(-1, keepdim=True))
        self.face = self.face ^ torch.where(self._patience >= 0, wrong, last)


def solve_complementarity(matrix: Tensor, right: Tensor, ridge: float) -> Tensor:
    """Find x >= 0 with R x - b >= 0 and x (R x - b) = 0, for R ``[..., T, T]`` and b ``[..., T]``.

    It is the solution of min x'Rx / 2 - b'x over x >= 0.
    """
    pivoting = Pivoting(right > 0)
    x = torch.zeros_like(right)
    for _ in range(pivot_bound(right)):
        face = pivoting.face
        x = solve_on_face(matrix, right.unsqueeze(-1), face, ridge).squeeze(-1)
        slack = (matrix @ x.unsqueeze(-1)).squeeze(-1) - right
        tolerance = rounding(x, right)
        wrong = torch.where(face, x < -tolerance, slack < -tolerance)
        if may_stop_early(right) and not wrong.any():
            break
        pivoting.update(wrong)
    return x.clamp(min=0)


def pivot_bound(problem: Tensor) -> int:
    """Rounds of pivoting. Random problems of 50 heads need at most 8, so a host that cannot look
    stops at a fixed number; a host that can look goes on as long as it takes."""
    return 20 * problem.shape[-1] if may_stop_early(problem) else 24


def rounding(*vectors: Tensor) -> Tensor:
    """How far below zero a number of a complementarity problem may be by rounding alone."""
    size = sum(v.abs().amax(-1, keepdim=True) for v in vectors)
    assert isinstance(size, Tensor)
    return 4 * vectors[0].shape[-1] * torch.finfo(size.dtype).eps * size
