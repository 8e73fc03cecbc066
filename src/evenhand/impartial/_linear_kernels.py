"""The Gram matrix of linear heads on a GPU, in two launches, with no copy in double precision; see `_kernels`."""

from __future__ import annotations

from contextlib import suppress

import torch
from torch import Tensor

from . import _kernels
from ._kernels import _kernel

with suppress(ImportError):  # without it no kernel is ever launched
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]

WIDEST = 128  # columns of all heads: products of more of them do not fit in the registers of a program
PART, TILE = 256, 32  # rows of one program at most, and of one product
BUSY = 256  # programs keep a GPU busy


def usable(h: Tensor, n_heads: int) -> bool:
    """Whether the kernels can serve gradients ``[..., rows, P]`` of single precision."""
    return h.dtype == torch.float32 and h.shape[-1] <= WIDEST and h.numel() > 0 and _kernels.usable(h[..., :n_heads])


def gram(h: Tensor, weight: Tensor, heads: Tensor, n_heads: int) -> Tensor:
    """The Gram matrix ``[..., T, T]`` of gradients h_d W_d, in double precision.

    Products are taken in single precision of columns divided by powers of two, so that none leaves its range, and
    added up in double precision from one part of the rows to the next.

    Args:
        h: ``[..., rows, P]``.
        weight: ``[..., P, features]``.
        heads: The head of every column, ``[P]``.
        n_heads: T.
    """
    lead, (rows, columns), features = h.shape[:-2], h.shape[-2:], weight.shape[-1]
    h, weight = h.contiguous(), weight.contiguous()
    problems = h.numel() // (rows * columns)
    part = PART
    while part > TILE and problems * -(-rows // part) < BUSY:
        part //= 2
    parts = -(-rows // part)
    products = torch.empty(problems, parts, columns, columns, dtype=torch.float64, device=h.device)
    result = torch.empty(*lead, n_heads, n_heads, dtype=torch.float64, device=h.device)
    side = max(16, 1 << (columns - 1).bit_length())
    warps = 8 if side > 64 else 4
    wide = max(16, 1 << (features - 1).bit_length())
    with torch.cuda.device_of(h):
        _products[(problems, parts)](h, products, rows, columns, part, TILE=TILE, BLOCK=side, num_warps=warps)
        _gram[(problems, n_heads)](
            products, weight, heads, result, parts, columns, features, n_heads,
            FEATURES=wide, HEADS=_kernels._block(n_heads), BLOCK=side, num_warps=warps,
        )  # fmt: skip
    return result


@_kernel
def _products(
    h: tl.tensor,
    products: tl.tensor,
    rows: tl.int32,
    columns: tl.int32,
    length: tl.int32,
    TILE: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """h'h of some rows of a problem."""
    problem, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    index = tl.arange(0, BLOCK)
    real = index < columns
    start = problem * rows * columns
    last = tl.minimum(rows, (part + 1) * length)
    largest = tl.zeros([BLOCK], tl.float32)
    for first in range(part * length, last, TILE):
        row = first + tl.arange(0, TILE)
        inside = (row < last)[:, None] & real[None, :]
        tile = tl.load(h + start + row[:, None] * columns + index[None, :], mask=inside, other=0.0)
        largest = tl.maximum(largest, tl.max(tl.abs(tile), 0))
    power = (largest.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)
    power = tl.where((power > 0) & (power < float("inf")), power, 1.0)
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    for first in range(part * length, last, TILE):
        row = first + tl.arange(0, TILE)
        inside = (row < last)[:, None] & real[None, :]
        tile = tl.load(h + start + row[:, None] * columns + index[None, :], mask=inside, other=0.0) / power[None, :]
        total += tl.dot(tl.trans(tile), tile, input_precision="tf32x3")  # as exact as float32, on the tensor cores
    scale = power.to(tl.float64)
    entries = (problem * tl.num_programs(1) + part) * columns * columns + index[:, None] * columns + index[None, :]
    values = total.to(tl.float64) * scale[:, None] * scale[None, :]
    tl.store(products + entries, values, mask=real[:, None] & real[None, :])


@_kernel
def _gram(
    products: tl.tensor,
    weights: tl.tensor,
    heads: tl.tensor,
    grams: tl.tensor,
    parts: tl.int32,
    columns: tl.int32,
    features: tl.int32,
    n_heads: tl.int32,
    FEATURES: tl.constexpr,
    HEADS: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One row of a Gram matrix: h'h times W W', entry by entry, added up over the columns of every pair of heads."""
    problem, one = tl.program_id(0).to(tl.int64), tl.program_id(1)
    index, number, feature = tl.arange(0, BLOCK), tl.arange(0, HEADS), tl.arange(0, FEATURES)
    real = index < columns
    inside = real[:, None] & (feature < features)[None, :]
    start = problem * columns
    weight = tl.load(weights + (start + index)[:, None] * features + feature[None, :], mask=inside, other=0.0)
    weight = weight.to(tl.float64)
    row = tl.zeros([BLOCK], tl.float64)
    for column in range(columns):
        if tl.load(heads + column) == one:
            own = tl.load(weights + (start + column) * features + feature, mask=feature < features, other=0.0)
            between = tl.sum(weight * own.to(tl.float64)[None, :], 1)
            pairs = tl.zeros([BLOCK], tl.float64)
            for part in range(parts):
                place = ((problem * parts + part) * columns + column) * columns
                pairs += tl.load(products + place + index, mask=real, other=0.0)
            row += pairs * between
    head = tl.load(heads + index, mask=real, other=-1).to(tl.int32)
    sums = tl.sum(tl.where(head[None, :] == number[:, None], row[None, :], 0.0), 1)
    tl.store(grams + (problem * n_heads + one) * n_heads + number, sums, mask=number < n_heads)
