"""Exact solvers for T x T problems, batched over leading axes and free of host synchronisation.

All of them work in correlation form: heads are divided by their norms first, so that gradients of very
different size, or an AMP loss scale, change nothing. A head without gradient takes no part.

Where the host can read numbers for free, loops end when all is solved; elsewhere they have fixed bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from . import _kernels


class Correlation(NamedTuple):
    """A Gram matrix G = S R S split into norms S and correlations R, in double precision."""

    matrix: Tensor  # R [..., T, T]; the row of a head without gradient is that of the identity
    norms: Tensor  # [..., T]
    inverse: Tensor  # 1 / norms, and 0 for a head without gradient
    active: Tensor  # [..., T], 1 for a head with a gradient and 0 for one without
    ridge: float  # the rounding error of R, to be added to its diagonal where R is inverted

    def relative_inverse(self) -> Tensor:
        """1 / norms in units of the largest, so in [0, 1]."""
        largest = self.inverse.amax(-1, keepdim=True)
        return self.inverse / largest.clamp(min=torch.finfo(largest.dtype).tiny)


SILENT = 1e-50  # of squared norms


def correlation(gram: Tensor) -> Correlation:
    """Split a Gram matrix ``[..., T, T]`` into norms and correlations."""
    precise = gram.to(solve_dtype(gram))
    squares = precise.diagonal(dim1=-2, dim2=-1)
    if host_reads_are_free(gram) and _none_is_silent(squares):
        root = squares.rsqrt()
        matrix = precise * root.unsqueeze(-1) * root.unsqueeze(-2)
        return Correlation(matrix, squares * root, root, torch.ones_like(root), ridge_of(gram))
    # A head 1e25 times quieter than another has underflowed; restoring the norm would amplify it. NaN is not silent.
    silent = (squares <= SILENT * squares.amax(-1, keepdim=True)).to(precise.dtype)
    squares = squares * (1 - silent)
    precise = precise * (1 - silent).unsqueeze(-1) * (1 - silent).unsqueeze(-2)
    root = (squares + silent).rsqrt()
    matrix = precise * root.unsqueeze(-1) * root.unsqueeze(-2)
    matrix.diagonal(dim1=-2, dim2=-1).add_(silent)
    return Correlation(matrix, squares * root, root - silent, 1 - silent, ridge_of(gram))


def _none_is_silent(squares: Tensor) -> bool:
    """Whether all heads have a gradient; False if in doubt, as with NaN."""
    if squares.ndim > 1:
        return bool((squares > SILENT * squares.amax(-1, keepdim=True)).all())
    numbers = squares.tolist()
    threshold = SILENT * max(numbers, default=0.0)
    return all(square > threshold for square in numbers)


def ridge_of(gram: Tensor) -> float:
    """The rounding error of the correlations of a Gram matrix."""
    return 4 * gram.shape[-1] * torch.finfo(gram.dtype).eps


def solve_dtype(tensor: Tensor) -> torch.dtype:
    """Double precision, as T x T problems are tiny; single precision on the one kind of device without it."""
    return torch.float32 if tensor.device.type == "mps" else torch.float64


def host_reads_are_free(tensor: Tensor) -> bool:
    """Whether reading a result on the host is free."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


FEW = 32  # numbers that Python compares sooner than torch


def all_between(numbers: Tensor, low: float, high: float) -> bool:
    """Whether all numbers lie in a range; NaN does not. For the CPU."""
    if numbers.ndim == 1 and len(numbers) <= FEW:
        return all(low <= number <= high for number in numbers.tolist())
    if numbers.numel() == 0:
        return True
    least, most = torch.aminmax(numbers)
    return least.item() >= low and most.item() <= high


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """The product of ``[..., T, T]`` and ``[..., T]``."""
    if matrix.ndim == 2 and vector.ndim == 1:
        return matrix @ vector
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def solve_positive(matrix: Tensor, right: Tensor) -> Tensor:
    """Solve a positive definite system ``[..., T, T] x = [..., T, k]``.

    These two calls, unlike `torch.linalg.solve` or `torch.cholesky_solve`, neither synchronise with
    the host nor break the capture of a CUDA graph, at any batch size.
    """
    return solve_factored(torch.linalg.cholesky_ex(matrix)[0], right)


def solve_factored(lower: Tensor, right: Tensor) -> Tensor:
    """Solve L L' x = right for a Cholesky factor L."""
    half = torch.linalg.solve_triangular(lower, right, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)


def solve_on_face(matrix: Tensor, right: Tensor, face: Tensor, ridge: float) -> Tensor:
    """Solve with the rows and columns in a face only; the other unknowns are zero."""
    inside = face.to(matrix.dtype)
    columns = inside.unsqueeze(-1)
    reduced = matrix * columns * inside.unsqueeze(-2)
    reduced.diagonal(dim1=-2, dim2=-1).add_(1 + ridge - inside)
    return solve_positive(reduced, right * columns)


def rounding(*vectors: Tensor) -> Tensor:
    """How far below zero a number of a complementarity problem may be by rounding alone."""
    size = torch.stack(vectors).abs().amax((0, -1)).unsqueeze(-1)
    return size * _relative_rounding(vectors[0].shape[-1], size.dtype)


def _relative_rounding(size: int, dtype: torch.dtype) -> float:
    return 8 * size * torch.finfo(dtype).eps


def solve_complementarity(matrix: Tensor, right: Tensor, ridge: float, *, dependent: bool = True) -> Tensor:
    """Find x >= 0 with R x - b >= 0 and x (R x - b) = 0, for R ``[..., T, T]`` and b ``[..., T]``.

    It is the minimum of x'Rx / 2 - b'x over x >= 0. Which unknowns are zero is found by pivoting, in at most
    eight rounds for independent gradients. For dependent ones a descent finishes the work.

    Args:
        matrix: R, positive semidefinite.
        right: b.
        ridge: What is added to the diagonal of R where it is inverted.
        dependent: Whether gradients may be dependent. Where the host cannot read results for free, the
            descent runs for all problems or for none, and this decides.
    """

    def on_face(face: Tensor) -> tuple[Tensor, Tensor]:
        x = solve_on_face(matrix, right.unsqueeze(-1), face, ridge).squeeze(-1)
        return x, times(matrix, x) - right

    if _kernels.usable(matrix):
        x, solved = _kernels.pivot(matrix, right, ridge, PIVOTS, PATIENCE)
    else:
        x, solved = pivot(right > 0, on_face)
    if host_reads_are_free(right):
        if solved is not SOLVED and not solved.all():
            rest = ~solved.squeeze(-1)
            x[rest] = _descend(matrix[rest], right[rest], ridge)
    elif dependent:
        x = torch.where(solved, x, _descend(matrix, right, ridge))
    return x


PIVOTS = 10
PATIENCE = 3


def pivot(face: Tensor, on_face: Callable[[Tensor], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Block principal pivoting (Júdice and Pires, 1994): solutions, and which of them ``[..., 1]`` are right.

    All unknowns on the wrong side change sides at once as long as that helps; after a few rounds in which it
    has not, only the last of them does.

    Args:
        face: The unknowns that are not fixed at zero at first, ``[..., T]``.
        on_face: The solution x and the slack for a given face; all of them should be >= 0.
    """
    fewest: Tensor | int = face.shape[-1] + 1
    patience: Tensor | int = PATIENCE
    for _ in range(PIVOTS):
        x, slack = on_face(face)
        if face.ndim == 1 and host_reads_are_free(face) and _all_right(face.tolist(), x.tolist(), slack.tolist()):
            return x.clamp(min=0), SOLVED
        wrong = torch.where(face, x, slack) < -rounding(x, slack)
        number = wrong.sum(-1, keepdim=True)
        if host_reads_are_free(face) and not number.any():
            break
        patience = torch.where(number < fewest, PATIENCE, patience - 1)
        fewest = torch.clamp(number, max=fewest)
        last = wrong & (wrong.cumsum(-1) == number)
        face = face ^ torch.where(patience >= 0, wrong, last)
    return x.clamp(min=0), number == 0


SOLVED = torch.ones(1, dtype=torch.bool, device="cpu")  # of one problem, for which nothing is left to ask


def _all_right(face: list[bool], x: list[float], slack: list[float]) -> bool:
    """Whether no number of one problem is on the wrong side, as in `pivot`."""
    tolerance = max(map(abs, x + slack), default=0.0) * _relative_rounding(len(x), torch.float64)
    return not any((a if inside else s) < -tolerance for inside, a, s in zip(face, x, slack, strict=True))


def _descend(matrix: Tensor, right: Tensor, ridge: float) -> Tensor:
    """The active-set method of Lawson and Hanson (1974), which cannot cycle.

    A step goes to the minimum on the face, or as far as x stays >= 0, and the unknown that got in the way
    is fixed at zero; at the minimum the unknown with the steepest descent is set free.
    """
    x = torch.zeros_like(right)
    face = x > 0
    index = torch.arange(right.shape[-1], device=right.device)
    for _ in range(10 * len(index) if host_reads_are_free(right) else 2 * len(index)):
        target = solve_on_face(matrix, right.unsqueeze(-1), face, ridge).squeeze(-1)
        tolerance = rounding(target, right)
        blocking = face & (target <= 0)
        room = torch.where(blocking, x / (x - target).clamp(min=tolerance / len(index)), 1.0)
        step = room.amin(-1, keepdim=True).clamp(max=1)
        x = torch.where(face, x + step * (target - x), 0.0).clamp(min=0)
        stopped = blocking & (room <= step)
        slack = times(matrix, x) - right
        falling = ~face & (slack < -tolerance)
        steepest = falling & (index == torch.where(falling, slack, torch.inf).argmin(-1, keepdim=True))
        moves = torch.where(blocking.any(-1, keepdim=True), stopped, steepest)
        if host_reads_are_free(right) and not moves.any():
            break
        face = face ^ moves
        x = torch.where(face, x, 0.0)
    return x
