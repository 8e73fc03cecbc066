"""The end of a backward pass through a block on a GPU, in few launches; see `_kernels`."""

from __future__ import annotations

from contextlib import suppress

import torch
from torch import Tensor

from . import _kernels
from ._kernels import _kernel, _launch

with suppress(ImportError):  # without it no kernel is ever launched
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]

PART = 4096  # elements of a vector that one program adds up
FEATURES = 32  # that one program decides about


def squared_lengths(vectors: Tensor, scale: Tensor) -> Tensor:
    """The squared lengths ``[...]`` of vectors ``[..., n]`` times a scale ``[...]``, in double precision."""
    vectors = vectors.contiguous()
    n = vectors.shape[-1]
    parts = vectors.new_empty(*vectors.shape[:-1], -(-n // PART), dtype=torch.float64)
    with torch.cuda.device_of(vectors):
        _squares[(parts.numel(),)](vectors, scale, parts, n, parts.shape[-1], BLOCK=PART, num_warps=8)
    return parts.sum(-1)


def restore(gram: Tensor, weights: Tensor, square: Tensor | None, where: Tensor | None) -> tuple[Tensor, Tensor]:
    """Weights ``[..., T]`` of a sum that is as long as the plain one, and the factors ``[..., 1]`` that made it so.

    Args:
        gram: Of the gradients, ``[..., T, T]``.
        weights: Before.
        square: The squared length of the sum, ``[...]``; that of the weighted sum if None.
        where: In which problems the length is changed, ``[...]``; in all if None.
    """
    longer, factors = torch.empty_like(gram[..., 0]), torch.empty_like(gram[..., :1, 0])
    known = gram if square is None else square.to(torch.float64)
    chosen = gram if where is None else where.to(torch.int8)
    eps, heads = torch.finfo(gram.dtype).eps, gram.shape[-1]
    tensors = gram.contiguous(), weights.contiguous(), known, chosen, longer, factors
    _launch(_restore, gram[..., 0], *tensors, eps, heads, square is not None, where is not None)
    return longer, factors


def follow(votes: Tensor, numbers: Tensor, leak: Tensor) -> Tensor:
    """GradDrop's multipliers ``[..., T, m]`` for votes ``[..., T, m]`` and uniform numbers ``[..., 1, m]``."""
    heads, features = votes.shape[-2:]
    multipliers = torch.empty_like(votes, memory_format=torch.contiguous_format)
    numbers = numbers.expand(*votes.shape[:-2], 1, features).contiguous()
    leaks = leak.to(votes).expand(heads).contiguous()
    blocks = -(-features // FEATURES)
    grid = (votes.numel() // (heads * features) * blocks,)
    with torch.cuda.device_of(votes):
        _follow_votes[grid](
            votes.contiguous(), numbers, leaks, multipliers, heads, features, blocks,
            WIDTH=FEATURES, BLOCK=_kernels._block(heads), num_warps=4,
        )  # fmt: skip
    return multipliers


@_kernel
def _squares(
    vectors: tl.tensor, scales: tl.tensor, parts: tl.tensor, n: tl.int32, n_parts: tl.int32, BLOCK: tl.constexpr
) -> None:
    part = tl.program_id(0).to(tl.int64)
    problem, index = part // n_parts, part % n_parts * BLOCK + tl.arange(0, BLOCK)
    numbers = tl.load(vectors + problem * n + index, mask=index < n, other=0.0).to(tl.float64)
    numbers = numbers * tl.load(scales + problem).to(tl.float64)
    tl.store(parts + part, tl.sum(numbers * numbers, 0))


@_kernel
def _restore(
    grams: tl.tensor,
    weights: tl.tensor,
    squares: tl.tensor,
    chosen: tl.tensor,
    longer: tl.tensor,
    factors: tl.tensor,
    eps: tl.float64,
    heads: tl.int32,
    KNOWN: tl.constexpr,
    SOME: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """`_gradients.rescaling` and what it needs."""
    problem = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, BLOCK)
    real = index < heads
    entries = problem * heads * heads + index[:, None] * heads + index[None, :]
    gram = tl.load(grams + entries, mask=real[:, None] & real[None, :], other=0.0).to(tl.float64)
    w = tl.load(weights + problem * heads + index, mask=real, other=0.0).to(tl.float64)
    if KNOWN:
        square = tl.load(squares + problem)
    else:
        square = tl.sum(w * tl.sum(gram * w[None, :], 1), 0)
    wanted = tl.sum(tl.sum(gram, 1), 0)
    own = tl.sum(tl.where(index[:, None] == index[None, :], gram, 0.0), 1)
    rounding = tl.sum(w * own * w, 0) * (heads * heads * eps)
    length = tl.where(square < rounding, rounding, square)
    length = tl.sqrt(tl.where(length == 0, 1.0, length))
    factor = tl.sqrt(tl.where(wanted < 0, 0.0, wanted)) / length
    factor = tl.where(factor * eps > 1.0, 1.0 / eps, factor)
    if SOME:
        factor = tl.where(tl.load(chosen + problem) != 0, factor, 1.0)
    tl.store(longer + problem * heads + index, w * factor, mask=real)
    tl.store(factors + problem, factor)


@_kernel
def _follow_votes(
    votes: tl.tensor,
    numbers: tl.tensor,
    leaks: tl.tensor,
    multipliers: tl.tensor,
    heads: tl.int32,
    features: tl.int32,
    blocks: tl.int32,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """`GradDrop._multipliers` for some features of a problem."""
    program = tl.program_id(0).to(tl.int64)
    problem, first = program // blocks, program % blocks * WIDTH
    head, feature = tl.arange(0, BLOCK), first + tl.arange(0, WIDTH)
    inside = (head < heads)[:, None] & (feature < features)[None, :]
    entries = problem * heads * features + head[:, None] * features + feature[None, :]
    vote = tl.load(votes + entries, mask=inside, other=0.0)
    number = tl.load(numbers + problem * features + feature, mask=feature < features, other=0.0)
    leak = tl.load(leaks + head, mask=head < heads, other=0.0)
    up = tl.sum(tl.where(vote < 0, 0.0, vote), 0)  # NaN stays
    down = -tl.sum(tl.where(vote > 0, 0.0, vote), 0)
    total = up + down
    side = tl.where(up / tl.where(total > 0, total, 1.0) > number, 1.0, -1.0)
    follows = (side[None, :] * vote > 0) | (total == 0)[None, :]
    kept = tl.where(follows, 1.0, 0.0) * (1.0 - leak)[:, None] + leak[:, None]
    tl.store(multipliers + entries, kept, mask=inside)
