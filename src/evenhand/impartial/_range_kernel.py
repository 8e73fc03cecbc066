"""`_range.narrow` on a GPU, in one launch; see `_kernels`."""

from __future__ import annotations

from contextlib import suppress

import torch
from torch import Tensor

from . import _kernels

with suppress(ImportError):  # without it no kernel is ever launched
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]


def narrow(gram: Tensor, dtype: torch.dtype, room: float) -> tuple[Tensor, Tensor]:
    """A Gram matrix ``[..., T, T]`` of doubles in another type, and the scale of its gradients ``[...]``."""
    narrowed = torch.empty(gram.shape, dtype=dtype, device=gram.device)
    scale = torch.empty(gram.shape[:-2], dtype=gram.dtype, device=gram.device)
    _kernels._launch(_narrow, gram[..., 0], gram.contiguous(), narrowed, scale, room, gram.shape[-1])
    return narrowed, scale


@_kernels._kernel
def _narrow(
    grams: tl.tensor,
    narrowed: tl.tensor,
    scales: tl.tensor,
    room: tl.float64,
    heads: tl.int32,
    BLOCK: tl.constexpr,
) -> None:
    problem = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, BLOCK)
    real = index < heads
    entries = problem * heads * heads + index[:, None] * heads + index[None, :]
    gram = tl.load(grams + entries, mask=real[:, None] & real[None, :], other=0.0)
    squares = tl.sum(tl.where(index[:, None] == index[None, :], gram, 0.0), 1)
    squares = tl.where(squares < float("inf"), squares, 0.0)  # neither infinite nor NaN
    longest = tl.max(squares, 0)
    shortest = tl.min(tl.where(squares > 0, squares, float("inf")), 0)
    usual = (shortest * room * room >= 1.0) & (longest <= room * room)
    exponent = tl.sqrt(longest).to(tl.int64, bitcast=True) & 0x7FF0000000000000
    power = exponent.to(tl.float64, bitcast=True)
    scale = tl.where(usual, 1.0, room / tl.maximum(power, 1e-300))
    tl.store(narrowed + entries, gram * scale * scale, mask=real[:, None] & real[None, :])
    tl.store(scales + problem, scale)
