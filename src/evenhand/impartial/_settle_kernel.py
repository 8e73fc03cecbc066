"""The chains of all replicas of a stack on a GPU, in one launch: from Gram matrices to mixing matrices.

A program of the kernel settles one replica, by the steps of its own chain. The mathematics is that of the methods,
which say by `Method.kernel_step` that they have a branch here. See `_kernels` for how kernels are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import torch
from torch import Tensor

from ._kernels import _complement, _correlate, _kernel, _launch, _solve
from ._solvers import PATIENCE, PIVOTS, SILENT, ridge_of

with suppress(ImportError):  # without it no kernel is ever launched
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]

GRADNORM, MGDA, IMTLG, PCGRAD = 1, 2, 3, 4
"""The branches; 0 leaves a replica as it is."""


class KernelStep(NamedTuple):
    """What the kernel has to know of a step.

    Attributes:
        code: Its branch.
        numbers: Up to three parameters.
        state: What it learns, ``[planes, replicas, T]``.
        steps: How often it has learnt, ``[1]``; all replicas of a step share it.
    """

    code: int
    numbers: tuple[float, ...] = ()
    state: Tensor | None = None
    steps: Tensor | None = None


class Program:
    """The chains of R replicas as the kernel reads them.

    Args:
        stages: For every stage its steps, each with the replicas that take it.
        replicas: R.
        like: Gram matrices of the replicas: their type and device.
    """

    def __init__(
        self, stages: Sequence[Sequence[tuple[KernelStep, Sequence[int]]]], replicas: int, like: Tensor
    ) -> None:
        shape = (replicas, len(stages))
        codes = torch.zeros(shape, dtype=torch.int32)
        numbers = torch.zeros(*shape, 3, dtype=torch.float64)
        memory = torch.zeros(*shape, 4, dtype=torch.int64)
        learning = [step for stage in stages for step, _ in stage if step.steps is not None]
        self._steps = [step.steps for step in learning]
        # The programs of one launch must all read the count of before: the next one is written beside it.
        self._next = [steps.clone() for steps in self._steps if steps is not None]
        self._states = [step.state for step in learning]
        places = {id(step.steps): following.data_ptr() for step, following in zip(learning, self._next, strict=True)}
        for s, stage in enumerate(stages):
            for step, members in stage:
                for row, replica in enumerate(members):
                    codes[replica, s] = step.code
                    numbers[replica, s, : len(step.numbers)] = torch.tensor(step.numbers, dtype=torch.float64)
                    if step.state is not None and step.steps is not None:
                        plane = step.state[0].numel()
                        start = step.state.data_ptr() + row * step.state.shape[-1] * step.state.element_size()
                        place = (start, plane, step.steps.data_ptr(), places[id(step.steps)])
                        memory[replica, s] = torch.tensor(place)
        self._codes, self._numbers, self._memory = (t.to(like.device) for t in (codes, numbers, memory))

    def fits(self, learning: Sequence[KernelStep]) -> bool:
        """Whether what the steps learn still lies where the program looks for it."""
        return [id(step.state) for step in learning] == [id(state) for state in self._states]

    def settle(self, gram: Tensor, uniform: Tensor | None) -> Tensor:
        """The mixing matrices ``[R, T, T]`` of Gram matrices, with uniform numbers ``[R, m]`` for random steps."""
        heads, gram = gram.shape[-1], gram.contiguous()
        matrix = torch.empty_like(gram)
        random = gram[:, 0] if uniform is None else uniform.contiguous()
        ridge, exact = ridge_of(gram), torch.finfo(torch.float64).eps
        damping = max(ridge**2, 4 * heads**2 * exact)  # as in `_eigen.solve_least_norm`
        tolerance = 8 * heads * exact  # as in `_solvers.rounding`
        tensors = gram, self._codes, self._numbers, self._memory, random, matrix
        sizes = heads, random.stride(0), self._codes.shape[1], PIVOTS, PATIENCE, gram.dtype == torch.float64
        warps = 1 if heads <= 16 else 4 if heads <= 32 else 8
        _launch(_settle, gram[..., 0], *tensors, ridge, damping, tolerance, SILENT, *sizes, warps=warps)
        if self._steps:
            torch._foreach_copy_(self._steps, self._next)  # type: ignore[arg-type]
        return matrix


@_kernel
def _product(left: tl.tensor, right: tl.tensor, heads: tl.int32, BLOCK: tl.constexpr) -> tl.tensor:
    """The product of two matrices, column by row."""
    index = tl.arange(0, BLOCK)
    product = tl.zeros([BLOCK, BLOCK], tl.float64)
    for k in range(heads):
        column = tl.sum(tl.where(index[None, :] == k, left, 0.0), 1)
        row = tl.sum(tl.where(index[:, None] == k, right, 0.0), 0)
        product += column[:, None] * row[None, :]
    return product


@_kernel
def _mgda(
    gram: tl.tensor,
    ridge: tl.float64,
    tolerance: tl.float64,
    silent: tl.float64,
    heads: tl.int32,
    rounds: tl.int32,
    patience: tl.int32,
    BLOCK: tl.constexpr,
) -> tl.tensor:
    """`MGDA.weights`."""
    index = tl.arange(0, BLOCK)
    matrix, _, inverse, active = _correlate(gram, silent, BLOCK)
    alone = (index[:, None] == index[None, :]) & ~active[:, None]
    largest = tl.max(inverse, 0)
    inverse = inverse / tl.where(largest == 0, 1.0, largest)
    matrix = tl.where(alone, 1.0, matrix)
    x, _ = _complement(matrix, inverse, ridge, tolerance, heads, rounds, patience, BLOCK)
    w = x * inverse
    total = tl.sum(w, 0)
    return w / tl.where(total == 0, 1.0, total)


@_kernel
def _imtlg(
    gram: tl.tensor, ridge: tl.float64, damping: tl.float64, silent: tl.float64, heads: tl.int32, BLOCK: tl.constexpr
) -> tl.tensor:
    """`IMTLG.weights`."""
    index = tl.arange(0, BLOCK)
    matrix, _, inverse, active = _correlate(gram, silent, BLOCK)
    diagonal = index[:, None] == index[None, :]
    squared = _product(matrix, matrix, heads, BLOCK) + tl.where(diagonal, damping, 0.0)
    goal = tl.sum(tl.where(active[None, :], matrix, 0.0), 1)
    largest = tl.max(inverse, 0)
    inverse = inverse / tl.where(largest == 0, 1.0, largest)
    w = _solve(squared, goal, heads, BLOCK) * inverse
    total = tl.abs(tl.sum(w, 0))
    return w / tl.where(total < ridge, ridge, total)


@_kernel
def _pcgrad(
    gram: tl.tensor, random: tl.tensor, silent: tl.float64, heads: tl.int32, BLOCK: tl.constexpr
) -> tl.tensor:
    """`PCGrad.mixing`, with the heads in the order of random numbers; padded ones must be larger than all others."""
    index = tl.arange(0, BLOCK)
    matrix, norms, inverse, _ = _correlate(gram, silent, BLOCK)
    earlier = (random[:, None] > random[None, :]) | (
        (random[:, None] == random[None, :]) & (index[:, None] > index[None, :])
    )
    rank = tl.sum(earlier.to(tl.int32), 1)
    products = matrix
    kept = tl.where(index[:, None] == index[None, :], 1.0, 0.0).to(tl.float64)
    for s in range(heads):
        chosen = rank == s
        unit = tl.sum(tl.where(chosen[:, None], matrix, 0.0), 0)
        # <g~_i, g_s> of unit vectors, where negative (or NaN); a gradient is not projected on itself
        product = tl.sum(tl.where(chosen[None, :], products, 0.0), 1)
        against = tl.where(chosen | (product >= 0), 0.0, product)
        products = products - against[:, None] * unit[None, :]
        kept = kept - tl.where(chosen[None, :], against[:, None], 0.0)
    return kept * norms[:, None] * inverse[None, :]


@_kernel
def _gradnorm(
    gram: tl.tensor, numbers: tl.tensor, memory: tl.tensor, heads: tl.int32, DOUBLE: tl.constexpr, BLOCK: tl.constexpr
) -> tl.tensor:
    """`GradNorm.weights`, and what it learns."""
    index = tl.arange(0, BLOCK)
    real = index < heads
    alpha, lr, when = tl.load(numbers), tl.load(numbers + 1), tl.load(numbers + 2)
    if DOUBLE:
        state = tl.load(memory).to(tl.pointer_type(tl.float64))
    else:
        state = tl.load(memory).to(tl.pointer_type(tl.float32))
    plane = tl.load(memory + 1)
    logits = tl.load(state + index, mask=real, other=0.0).to(tl.float64)
    mean = tl.load(state + plane + index, mask=real, other=0.0).to(tl.float64)
    square = tl.load(state + 2 * plane + index, mask=real, other=0.0).to(tl.float64)
    reference = tl.load(state + 3 * plane + index, mask=real, other=1.0).to(tl.float64)
    done = tl.load(tl.load(memory + 2).to(tl.pointer_type(tl.int64)))
    positive = tl.where(real, tl.maximum(tl.exp(logits), 1e-5), 0.0)
    weights = positive * heads / tl.sum(positive, 0)

    norms = tl.sqrt(tl.sum(tl.where(index[:, None] == index[None, :], gram, 0.0), 1))
    number = tl.maximum(tl.sum((norms != 0).to(tl.float64), 0), 1.0)
    norms = norms * (number / (tl.sum(norms, 0) + 1e-30))
    reference = tl.where(done == when, norms, reference)
    reference = tl.where(reference == 0, norms, reference)  # of a head that was missing then: its next one
    weighted = weights * norms
    target = tl.sum(weighted, 0) / number + tl.zeros([BLOCK], tl.float64)
    if alpha != 0:
        ratio = tl.where(real, norms / tl.where(reference < 1e-5, 1e-5, reference), 0.0)
        middle = tl.sum(ratio, 0) / number
        relative = ratio / tl.where(middle < 1e-5, 1e-5, middle)
        target = target * tl.exp2(alpha * tl.log2(relative))
    ahead = weighted - target
    # at first all heads may be where they are to be: which side they are on must not be left to rounding
    if DOUBLE:
        ahead = tl.where(tl.abs(ahead) <= 4e-15 * target, 0.0, ahead)
    else:
        ahead = tl.where(tl.abs(ahead) <= 5e-7 * target, 0.0, ahead)
    pull = norms * tl.where(ahead > 0, 1.0, tl.where(ahead < 0, -1.0, ahead))  # NaN stays
    there = real & (norms != 0)
    common = tl.sum(pull * weights, 0) / (tl.sum(tl.where(there, weights, 0.0), 0) + 1e-30)
    slope = tl.where(there, weights * (pull - common), 0.0)
    steps = (done + 1).to(tl.float64)
    mean = slope + 0.9 * (mean - slope)
    square = slope * slope + 0.999 * (square - slope * slope)
    size = tl.sqrt(square / (1 - tl.exp2(steps * -0.0014434168696687187))) + 1e-8  # 0.999 ** steps
    logits = logits - lr * (mean / (1 - tl.exp2(steps * -0.15200309344504997))) / size  # 0.9 ** steps
    total = tl.sum(slope, 0)
    doubt = (total - total) + tl.zeros([BLOCK], tl.float64)  # 0 if it is neither infinite nor NaN
    valid = real & (doubt == 0)
    moved = there & (doubt == 0)
    tl.store(state + index, logits, mask=moved)
    tl.store(state + plane + index, mean, mask=moved)
    tl.store(state + 2 * plane + index, square, mask=moved)
    tl.store(state + 3 * plane + index, reference, mask=valid)
    following = tl.where(total - total == 0, done + 1, done)
    tl.atomic_max(tl.load(memory + 3).to(tl.pointer_type(tl.int64)), following)
    return weights


@_kernel
def _settle(
    grams: tl.tensor,
    codes: tl.tensor,
    numbers: tl.tensor,
    memory: tl.tensor,
    randoms: tl.tensor,
    matrices: tl.tensor,
    ridge: tl.float64,
    damping: tl.float64,
    tolerance: tl.float64,
    silent: tl.float64,
    heads: tl.int32,
    width: tl.int32,
    stages: tl.int32,
    rounds: tl.int32,
    patience: tl.int32,
    DOUBLE: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One chain for every replica: the steps in turn, each on the gradients as the one before has left them."""
    replica = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, BLOCK)
    inside = (index < heads)[:, None] & (index < heads)[None, :]
    entries = replica * heads * heads + index[:, None] * heads + index[None, :]
    gram = tl.load(grams + entries, mask=inside, other=0.0).to(tl.float64)
    mixing = tl.where((index[:, None] == index[None, :]) & inside, 1.0, 0.0).to(tl.float64)
    for stage in range(stages):
        place = replica * stages + stage
        code = tl.load(codes + place)
        if code == 4:
            random = tl.load(randoms + replica * width + index, mask=index < heads, other=float("inf"))
            step = _pcgrad(gram, random, silent, heads, BLOCK)
            mixing = _product(step, mixing, heads, BLOCK)
            if stage + 1 < stages:
                gram = _product(_product(step, gram, heads, BLOCK), tl.trans(step), heads, BLOCK)
        else:
            weights = tl.where(index < heads, 1.0, 0.0).to(tl.float64)
            if code == 1:
                weights = _gradnorm(gram, numbers + place * 3, memory + place * 4, heads, DOUBLE, BLOCK)
            elif code == 2:
                weights = _mgda(gram, ridge, tolerance, silent, heads, rounds, patience, BLOCK)
            elif code == 3:
                weights = _imtlg(gram, ridge, damping, silent, heads, BLOCK)
            mixing = mixing * weights[:, None]
            gram = gram * weights[:, None] * weights[None, :]
    tl.store(matrices + entries, mixing, mask=inside)
