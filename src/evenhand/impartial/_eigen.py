"""Eigenvalues of small symmetric matrices without host synchronisation."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from . import _kernels
from ._solvers import all_between, host_reads_are_free, solve_dtype, solve_factored, solve_positive, times

SWEEPS = 8
CLEAR_PIVOT = 1e-2  # pivots above this are far from rounding error, so the matrix has full rank


def eigh(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues ``[..., T]`` and eigenvectors (columns) of ``[..., T, T]``, in double precision.

    On the CPU LAPACK's. Elsewhere `torch.linalg.eigh` would synchronise with the host, so there
    Jacobi's rotations run, T / 2 disjoint ones at once.
    """
    matrix = matrix.to(solve_dtype(matrix))
    if host_reads_are_free(matrix):
        if math.isfinite(matrix.sum().item()):
            return torch.linalg.eigh(matrix)
        # LAPACK refuses NaN, and one problem that has it must not spoil the others of its batch
        finite = matrix.isfinite().flatten(-2).all(-1, keepdim=True)
        identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
        values, vectors = torch.linalg.eigh(torch.where(finite[..., None], matrix, identity))
        return values.where(finite, torch.nan), vectors
    return jacobi(matrix)


def solve_least_norm(matrix: Tensor, right: Tensor, noise: float) -> Tensor:
    """The solution of least norm of R x = b for positive semidefinite R, with eigenvalues up to noise as 0.

    Where the host cannot read the rank for free, Tikhonov's (R R + t I) x = R b is solved instead: the same for R
    of full rank, and bounded for any other.
    """
    if host_reads_are_free(matrix):
        lower = torch.linalg.cholesky_ex(matrix)[0]
        if all_between(lower.diagonal(dim1=-2, dim2=-1), CLEAR_PIVOT, math.inf):
            return solve_factored(lower, right.unsqueeze(-1)).squeeze(-1)
        values, vectors = eigh(matrix)
        inverse = (values > noise) / values.clamp(min=noise)
        return times(vectors, inverse * times(vectors.mT, right))
    damping = max(noise**2, 4 * matrix.shape[-1] ** 2 * torch.finfo(matrix.dtype).eps)
    if _kernels.usable(matrix):
        return _kernels.solve_least_norm(matrix, right, damping)
    squared = matrix @ matrix + torch.diag_embed(torch.full_like(right, damping))
    return solve_positive(squared, matrix @ right.unsqueeze(-1)).squeeze(-1)


def jacobi(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Cyclic Jacobi in the order of a round-robin tournament; eigenvalues in no particular order."""
    size = matrix.shape[-1]
    identity = torch.eye(size, dtype=matrix.dtype, device=matrix.device)
    vectors = identity.expand_as(matrix)
    pairs = _tournament(size, matrix.device)
    for _ in range(SWEEPS):
        for p, q in pairs:
            rotation = _rotations(matrix, p, q, identity)
            matrix = rotation.mT @ matrix @ rotation
            vectors = vectors @ rotation
    return matrix.diagonal(dim1=-2, dim2=-1), vectors


def _rotations(matrix: Tensor, p: Tensor, q: Tensor, identity: Tensor) -> Tensor:
    """The rotation that annihilates the entries (p, q), all of them in different planes."""
    off = matrix[..., p, q]
    difference = matrix[..., q, q] - matrix[..., p, p]
    # tan of the smaller angle; 0 where there is nothing to annihilate
    sign = torch.where(difference < 0, -1.0, 1.0)
    divisor = difference.abs() + (difference.square() + 4 * off.square()).sqrt()
    tangent = torch.where(off == 0, 0.0, 2 * off * sign / divisor)
    cosine = 1 / (1 + tangent.square()).sqrt()
    sine = tangent * cosine
    rotation = identity.expand_as(matrix).clone()
    rotation[..., p, p], rotation[..., q, q] = cosine, cosine
    rotation[..., p, q], rotation[..., q, p] = sine, -sine
    return rotation


def _tournament(size: int, device: torch.device) -> list[tuple[Tensor, Tensor]]:
    """Rounds in which everyone meets everyone once, as disjoint pairs (p, q), made on the device."""
    circle = size - 1 + size % 2  # the players on a circle; if their number is even, one sits in the middle
    apart = torch.arange(1, (circle + 1) // 2, device=device)
    rounds = []
    for r in range(circle):
        p, q = (r + apart) % circle, (r - apart) % circle
        if circle == size - 1:
            p, q = torch.cat([p, p.new_full((1,), r)]), torch.cat([q, q.new_full((1,), circle)])
        rounds.append((p, q))
    return rounds


def nearest_positive(matrix: Tensor) -> Tensor:
    """The nearest positive semidefinite matrix: negative eigenvalues become zero."""
    values, vectors = eigh(matrix)
    positive = (vectors * values.clamp(min=0).unsqueeze(-2)) @ vectors.mT
    return positive.to(matrix.dtype)
