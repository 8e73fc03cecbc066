"""Gradients whose squares do not fit their type: float32 has none below 1e-45 or above 3e38."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import _kernels, _range_kernel
from ._solvers import all_between, host_reads_are_free, solve_dtype

ROOM = 2.0**40
"""Norms between 1 / ROOM and ROOM have squares, and sums of them, that float32 holds with all its digits."""

LEAST, MOST = ROOM**-2, ROOM**2

_EXPONENT = 0x7FF0000000000000  # the bits of a double that say which power of two it is


def measure(products: Callable[[Tensor], Tensor], rows: Tensor) -> tuple[Tensor, Tensor | None]:
    """Inner products of rows ``[..., T, T]``, in their type, and the scale of the rows ``[...]``; see `narrow`.

    Where results can be read for free, double precision waits until single precision has failed.
    """
    if host_reads_are_free(rows):
        gram = products(rows)
        if fits(gram):
            return gram, None
    return narrow(products(wide(rows)), rows.dtype)


def measure_at(products: Callable[[Tensor], Tensor], rows: Tensor, scale: Tensor | None) -> Tensor:
    """Inner products of rows at a scale that is known."""
    if scale is None:
        return products(rows)
    return (products(wide(rows)) * scale.square()[..., None, None]).to(rows.dtype)


def fits(gram: Tensor) -> bool:
    """Whether the Gram matrices ``[..., T, T]`` are far from both ends of the range of float32; for the CPU."""
    return gram.dtype == torch.float64 or all_between(gram.diagonal(dim1=-2, dim2=-1), LEAST, MOST)


def narrow(gram: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """A Gram matrix in double precision, in a type of fewer digits, and the scale of its gradients ``[...]``.

    Where the squares fit, they stay as they are and the scale is 1. Elsewhere they are those of gradients times a
    power of two, with which the longest is about `ROOM` long; spreads of 1e30 then fit. On the CPU, None is a
    scale of 1 for all problems.
    """
    if gram.dtype == dtype:
        return gram, None
    if _kernels.usable(gram):
        return _range_kernel.narrow(gram, dtype, ROOM)
    squares = gram.diagonal(dim1=-2, dim2=-1)
    squares = squares.where(squares.isfinite(), 0.0)  # a head with NaN is not to spoil the others
    longest = squares.amax(-1)
    shortest = squares.where(squares > 0, torch.inf).amin(-1)
    usual = (shortest >= LEAST) & (longest <= MOST)
    if host_reads_are_free(gram) and usual.all():
        return gram.to(dtype), None
    power = (longest.sqrt().view(torch.int64) & _EXPONENT).view(torch.float64)
    scale = torch.where(usual, 1.0, ROOM / power.clamp(min=1e-300))
    return (gram * scale.square()[..., None, None]).to(dtype), scale


def wide(tensor: Tensor) -> Tensor:
    """The tensor in double precision, where the device has it."""
    return tensor.to(solve_dtype(tensor))


def in_type(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor in a type: `tensor.to` takes a while to find out that there is nothing to do."""
    return tensor if tensor.dtype == dtype else tensor.to(dtype)
