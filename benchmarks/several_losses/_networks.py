"""Small convolutional networks of S seeds and C contenders, trained as one: all parameters are ``[S, C, ...]``.

Convolutions are products with patches: with hundreds of groups of ten channels that is what a GPU does well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, relu

ALL = slice(None)
KERNEL = 5
BEFORE_RELU = math.sqrt(6)  # He et al., 2015: with less, SVHN takes long to be learnt at all


class Stack:
    """How many contenders there are, and one generator for each seed, from which initial parameters are drawn.

    All contenders of a seed begin with the same parameters.
    """

    def __init__(self, seeds: Sequence[int], n_contenders: int) -> None:
        self.n_seeds, self.n_contenders = len(seeds), n_contenders
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def parameter(self, *shape: int, fan_in: int, gain: float = 1.0) -> nn.Parameter:
        """Uniform numbers, as torch's own layers have them if the gain is one."""
        bound = gain / math.sqrt(fan_in)
        values = [torch.empty(shape).uniform_(-bound, bound, generator=g) for g in self._generators]
        return nn.Parameter(torch.stack(values).unsqueeze(1).repeat(1, self.n_contenders, *(1 for _ in shape)))


class Linear(nn.Module):
    """``[S, C, B, n_in]`` to ``[S, C, B, n_out]``; only some contenders if `of` says so."""

    def __init__(self, stack: Stack, n_in: int, n_out: int, *, gain: float = 1.0) -> None:
        super().__init__()
        self.weight = stack.parameter(n_in, n_out, fan_in=n_in, gain=gain)
        self.bias = stack.parameter(1, n_out, fan_in=n_in)

    def forward(self, x: Tensor, of: slice = ALL) -> Tensor:
        return x @ self.weight[:, of] + self.bias[:, of]


class Convolution(nn.Module):
    """Five by five, then the largest of two by two, then ReLU.

    Images that all contenders see are ``[S, B, channels, height, width]``. Others are ``[S, C, B, ...]``, as is the
    result.
    """

    def __init__(self, stack: Stack, n_in: int, n_out: int) -> None:
        super().__init__()
        fan_in = n_in * KERNEL**2
        self.weight = stack.parameter(fan_in, n_out, fan_in=fan_in, gain=BEFORE_RELU)
        self.bias = stack.parameter(1, n_out, fan_in=fan_in)

    def forward(self, x: Tensor, of: slice = ALL) -> Tensor:
        weight, bias = self.weight[:, of], self.bias[:, of]
        height, width = (size - KERNEL + 1 for size in x.shape[-2:])
        convolve = _seen_by_all if x.ndim == 5 else _seen_by_one
        maps = convolve(patches(x), weight, bias)  # [images, positions, channels]
        pooled = max_pool2d(maps.unflatten(1, (height, width)).permute(0, 3, 1, 2), 2)
        return relu(_by_contender(pooled, x, weight))


def patches(x: Tensor) -> Tensor:
    """All squares of images ``[..., channels, height, width]``, as ``[..., positions, channels * squares]``."""
    squares = x.unfold(-2, KERNEL, 1).unfold(-2, KERNEL, 1)  # [..., channels, height, width, 5, 5]
    return squares.movedim(-5, -3).flatten(-3).flatten(-3, -2)


def _seen_by_all(squares: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One product for every seed, whose columns are the channels of all contenders."""
    seeds, images, positions, _ = squares.shape
    columns = weight.movedim(1, 2).flatten(2)  # [S, squares, C * channels]
    result = torch.baddbmm(bias.movedim(1, 2).flatten(2), squares.flatten(1, 2), columns)
    return result.reshape(seeds * images, positions, -1)


def _seen_by_one(squares: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    positions = squares.shape[-2]
    result = torch.baddbmm(bias.flatten(0, 1), squares.flatten(2, 3).flatten(0, 1), weight.flatten(0, 1))
    return result.reshape(-1, positions, weight.shape[-1])


def _by_contender(pooled: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Maps as ``[S, C, B, channels, height, width]``."""
    seeds, contenders, _, channels = weight.shape
    if x.ndim == 5:
        split = pooled.unflatten(1, (contenders, channels)).unflatten(0, (seeds, -1))
        return split.movedim(2, 1).contiguous()
    return pooled.contiguous().unflatten(0, (seeds, contenders, -1))


class Encoder(nn.Module):
    """LeNet up to the features that heads share: two convolutions and a layer."""

    def __init__(self, stack: Stack, shape: tuple[int, int, int], channels: tuple[int, int], n_features: int) -> None:
        super().__init__()
        n_in, *sizes = shape
        height, width = ((((size - 4) // 2) - 4) // 2 for size in sizes)
        self.first = Convolution(stack, n_in, channels[0])
        self.second = Convolution(stack, *channels)
        self.last = Linear(stack, channels[1] * height * width, n_features, gain=BEFORE_RELU)

    def forward(self, x: Tensor, of: slice = ALL) -> Tensor:
        maps = self.second(self.first(x, of), of)
        return relu(self.last(maps.flatten(3), of))

    def convolutions(self) -> list[nn.Parameter]:
        return [self.first.weight, self.second.weight]


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Means over the batch ``[S, C]``, for logits ``[S, C, B, classes]`` and labels ``[S, B]``."""
    index = labels[:, None, :, None].expand(-1, logits.shape[1], -1, 1)
    return -logits.log_softmax(-1).gather(-1, index).squeeze(-1).mean(-1)
