"""The Gram matrix of linear heads on a GPU, in few launches, with no copy in double precision; see `_kernels`."""

from __future__ import annotations

from contextlib import suppress

import torch
from torch import Tensor

from . import _kernels
from ._kernels import _kernel

with suppress(ImportError):  # without it no kernel is ever launched
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]

WIDEST = 128  # columns of all heads: products of more of them do not fit in the registers of a program
TILE = 32  # rows of one product
PAIRS = 1024  # pairs of columns of one program
LEAST, MOST = 2.0**-80, 2.0**80  # squared lengths that float32 holds with all their digits, and those of shorter rows


def usable(h: Tensor, n_heads: int) -> bool:
    """Whether the kernels can serve gradients ``[..., rows, P]`` of single precision."""
    if not _kernels.INSTALLED or h.dtype != torch.float32 or h.shape[-1] > WIDEST or h.numel() == 0:
        return False
    return _kernels.usable(h[..., :n_heads])


def gram(h: Tensor, weight: Tensor, member: Tensor) -> Tensor:
    """The Gram matrix ``[..., T, T]`` of gradients h_d W_d, in double precision.

    Products of rows are taken in single precision, in parts that are added up in double precision. Where squares
    would leave the range of single precision, they are taken again of columns divided by powers of two.

    Args:
        h: ``[..., rows, P]``.
        weight: ``[..., P, features]``.
        member: Which column belongs to which head, ``[P, T]``, in double precision.
    """
    lead, (rows, columns) = h.shape[:-2], h.shape[-2:]
    h, weight = h.contiguous(), weight.reshape(-1, *weight.shape[-2:]).double()
    between = weight @ weight.mT
    split = h.view(-1, rows, columns).unflatten(1, (parts_of(rows), -1))
    products = split.mT @ split  # [problems, parts, P, P]
    problems, parts = products.shape[:2]
    powers = torch.empty(problems, parts, columns, dtype=h.dtype, device=h.device)
    pairs = torch.empty(problems, columns, columns, dtype=torch.float64, device=h.device)
    side = max(16, 1 << (columns - 1).bit_length())
    with torch.cuda.device_of(h):
        _repair[(problems * parts,)](
            h, products, powers, rows // parts, columns, LEAST, MOST, TILE=TILE, BLOCK=side, num_warps=4
        )
        _pairs[(problems, -(-(columns**2) // PAIRS))](
            products, powers, between, pairs, parts, columns, BLOCK=PAIRS, num_warps=4
        )
    return (member.mT @ pairs @ member).view(*lead, *member.shape[-1:], *member.shape[-1:])


def parts_of(rows: int) -> int:
    """Into how many parts of equal length many rows are cut, so that few processors do not add up all of them."""
    return next((n for n in (16, 8, 4, 2) if rows % n == 0 and rows // n >= FEW_ROWS), 1)


FEW_ROWS = 128


@_kernel
def _repair(
    h: tl.tensor,
    products: tl.tensor,
    powers: tl.tensor,
    rows: tl.int32,
    columns: tl.int32,
    least: tl.float64,
    most: tl.float64,
    TILE: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """h'h of a part of the rows, once more where it is zero or out of its range; and what columns are divided by."""
    part = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, BLOCK)
    real = index < columns
    entries = part * columns * columns
    squares = tl.load(products + entries + index * (columns + 1), mask=real, other=1.0)
    power = tl.zeros([BLOCK], tl.float32) + 1.0
    usual = (squares >= least) & (squares <= most)  # NaN is not
    if tl.sum(usual.to(tl.int32), 0) < BLOCK:
        start = part * rows * columns
        largest = tl.zeros([BLOCK], tl.float32)
        for first in range(0, rows, TILE):
            row = first + tl.arange(0, TILE)
            inside = (row < rows)[:, None] & real[None, :]
            tile = tl.load(h + start + row[:, None] * columns + index[None, :], mask=inside, other=0.0)
            largest = tl.maximum(largest, tl.max(tl.abs(tile), 0))
        power = (largest.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)
        power = tl.where((power > 0) & (power < float("inf")), power, 1.0)
        total = tl.zeros([BLOCK, BLOCK], tl.float32)
        for first in range(0, rows, TILE):
            row = first + tl.arange(0, TILE)
            inside = (row < rows)[:, None] & real[None, :]
            tile = tl.load(h + start + row[:, None] * columns + index[None, :], mask=inside, other=0.0)
            tile = tile / power[None, :]
            total += tl.dot(tl.trans(tile), tile, input_precision="ieee")
        places = products + entries + index[:, None] * columns + index[None, :]
        tl.store(places, total, mask=real[:, None] & real[None, :])
    tl.store(powers + part * columns + index, power, mask=real)


@_kernel
def _pairs(
    products: tl.tensor,
    powers: tl.tensor,
    between: tl.tensor,
    pairs: tl.tensor,
    parts: tl.int32,
    columns: tl.int32,
    BLOCK: tl.constexpr,
) -> None:
    """h'h times W W', entry by entry."""
    problem = tl.program_id(0).to(tl.int64)
    entry = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = entry < columns * columns
    one, other = entry // columns, entry % columns
    product = tl.zeros([BLOCK], tl.float64)
    for part in range(parts):
        place = problem * parts + part
        value = tl.load(products + place * columns * columns + entry, mask=real, other=0.0).to(tl.float64)
        value = value * tl.load(powers + place * columns + one, mask=real, other=0.0).to(tl.float64)
        product += value * tl.load(powers + place * columns + other, mask=real, other=0.0).to(tl.float64)
    entry += problem * columns * columns
    tl.store(pairs + entry, product * tl.load(between + entry, mask=real, other=0.0), mask=real)
