"""Networks from shapes alone, for modalities whose user brings none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TypedDict

import torch
from torch import Tensor, nn

from ...common import check_integer, check_number, is_integer
from ._floor import ScaleFloor

SMALLEST_IMAGE = 8
"""The least side of an image; sequences shorter than this are read as vectors."""
SMALLEST_SCALE = 1e-3
"""Of posteriors: 7 nats for every latent variable, which is more than data have to tell."""


def default_encoder(
    input_shape: Sequence[int], n_latent: int, *, smallest_scale: float = SMALLEST_SCALE
) -> nn.Module:
    """An encoder for inputs of a shape: it gives a mean and a raw scale, ``[B, 2 * n_latent]``.

    Images and sequences pass strided convolutions down to at most 4 positions a side and one hidden layer of 128
    units; everything else two hidden layers of 256. No layer looks at more than one row.

    Args:
        input_shape: The shape of one item: ``()`` for a number, ``(D,)`` for a vector, ``(T, C)`` for T symbols out
            of C (one-hot), ``(C, H, W)`` for an image with sides of at least 8.
        n_latent: Number of latent variables.
        smallest_scale: A floor under the scales of posteriors, which then cannot reach zero; 0 for none.

    Example:
        >>> default_encoder((1, 28, 28), n_latent=20)(torch.rand(5, 1, 28, 28)).shape
        torch.Size([5, 40])
    """
    shape = checked_shape("input_shape", input_shape)
    check_integer("n_latent", n_latent)
    check_number("smallest_scale", smallest_scale)
    end: list[nn.Module] = [ScaleFloor(smallest_scale)] if smallest_scale else []
    if is_image(shape):
        n_channels, height, width = shape
        return _ConvolutionalEncoder(n_channels, (height, width), 2 * n_latent, 64, end)
    if len(shape) == 2 and shape[0] >= SMALLEST_IMAGE:
        return _SequenceEncoder(*shape, 2 * n_latent, end)
    if len(shape) <= 2:
        n = math.prod(shape)
        return nn.Sequential(_Reshape((n,)), *_mlp(n, 256, 256, 2 * n_latent), *end)
    raise ValueError(
        "input_shape should be (), (D,), (T, C) for symbols or (C, H, W) for an image with sides of at least "
        f"{SMALLEST_IMAGE}. Found {shape}."
    )


def default_decoder(n_latent: int, parameter_shape: Sequence[int]) -> nn.Module:
    """A decoder from latent variables ``[N, n_latent]`` to parameters ``[N, *parameter_shape]``, of any real value.

    It mirrors `default_encoder`. A last axis of 2 beside the shape of the items holds two parameters of every
    entry, such as a mean and a scale: ``(D, 2)`` is a vector and not a sequence, ``(T, C, 2)`` a sequence,
    ``(C, H, W, 2)`` an image.

    Args:
        n_latent: Number of latent variables.
        parameter_shape: The shape of the likelihood's parameters of one item.

    Example:
        >>> default_decoder(20, (3, 32, 32, 2))(torch.randn(5, 20)).shape
        torch.Size([5, 3, 32, 32, 2])
    """
    shape = checked_shape("parameter_shape", parameter_shape)
    check_integer("n_latent", n_latent)
    paired = len(shape) > 1 and shape[-1] == 2
    item = shape[:-1] if paired else shape
    if is_image(item):
        return _ImageDecoder(n_latent, item, paired)
    if len(item) == 2 and item[0] >= SMALLEST_IMAGE:
        return nn.Sequential(_SequenceDecoder(n_latent, item[0], math.prod(shape[1:])), _Reshape(shape))
    if len(item) <= 2:
        return nn.Sequential(*_mlp(n_latent, 256, 256, math.prod(shape)), _Reshape(shape))
    raise ValueError(
        "parameter_shape should be (), (D,), (T, C) for symbols or (C, H, W) for an image with sides of at least "
        f"{SMALLEST_IMAGE}, with or without a last axis of 2. Found {shape}."
    )


def checked_shape(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple, or an error that names it."""
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise ValueError(f"{name} should be a tuple of integers. Found {shape!r}.")
    if not all(is_integer(n) and n >= 1 for n in shape):
        raise ValueError(f"{name} should hold integers >= 1. Found {tuple(shape)}.")
    return tuple(shape)


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether a shape is (C, H, W) with sides that are long enough."""
    return len(shape) == 3 and min(shape[1:]) >= SMALLEST_IMAGE


def with_channels_last(module: nn.Module) -> nn.Module:
    """The same module; weights of its convolutions have channels last in memory, so that their outputs have."""
    return module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


class _ConvolutionalEncoder(nn.Module):
    """Images to vectors: convolutions that halve long sides, then a hidden layer."""

    def __init__(
        self, n_channels: int, sides: tuple[int, int], n_out: int, width: int, end: Sequence[nn.Module]
    ) -> None:
        super().__init__()
        sizes = _sizes(sides)
        channels = [n_channels, *_widths(len(sizes) - 1, width)]
        layers: list[nn.Module] = []
        for size, (n_in, n_next) in zip(sizes[:-1], pairwise(channels), strict=True):
            layers += [nn.Conv2d(n_in, n_next, **_geometry(size)), nn.ReLU()]
        self.convolutions = with_channels_last(nn.Sequential(*layers))
        self.head = nn.Sequential(*_mlp(width * math.prod(sizes[-1]), 128, n_out), *end)

    def forward(self, x: Tensor) -> Tensor:
        h = self.convolutions(x.contiguous(memory_format=torch.channels_last))
        return self.head(h.movedim(1, -1).flatten(1))  # in the order of memory: no copy


class _ConvolutionalDecoder(nn.Module):
    """Vectors to images: the encoder's steps, backwards."""

    def __init__(self, n_in: int, n_channels: int, sides: tuple[int, int], width: int) -> None:
        super().__init__()
        sizes = _sizes(sides)
        self.grid = (*sizes[-1], width)
        self.stem = nn.Sequential(*_mlp(n_in, 128, math.prod(self.grid)))
        channels = [n_channels, *_widths(len(sizes) - 1, width)][::-1]
        layers: list[nn.Module] = []
        for size, (n_before, n_next) in zip(sizes[-2::-1], pairwise(channels), strict=True):
            layers += [nn.ReLU(), nn.ConvTranspose2d(n_before, n_next, **_geometry(size))]
        self.convolutions = with_channels_last(nn.Sequential(*layers))

    def forward(self, z: Tensor) -> Tensor:
        return self.convolutions(self.stem(z).unflatten(1, self.grid).movedim(-1, 1))


class _ImageDecoder(nn.Module):
    """Images with one or two parameters for every pixel and channel."""

    def __init__(self, n_latent: int, shape: tuple[int, ...], paired: bool) -> None:
        super().__init__()
        n_channels, height, width = shape
        self.pairs = (n_channels, 2) if paired else None
        self.network = _ConvolutionalDecoder(n_latent, n_channels * (1 + paired), (height, width), width=64)

    def forward(self, z: Tensor) -> Tensor:
        image = self.network(z)
        return image if self.pairs is None else image.unflatten(1, self.pairs).movedim(2, -1)


class _SequenceEncoder(nn.Module):
    """Every symbol is embedded, and the sequence read as an image of height 1."""

    def __init__(self, length: int, n_symbols: int, n_out: int, end: Sequence[nn.Module]) -> None:
        super().__init__()
        self.embedding = nn.Linear(n_symbols, 64)
        self.network = _ConvolutionalEncoder(64, (1, length), n_out, 128, end)

    def forward(self, x: Tensor) -> Tensor:
        return self.network(torch.relu(self.embedding(x)).unsqueeze(1).movedim(-1, 1))


class _SequenceDecoder(nn.Module):
    """An image of height 1, read symbol by symbol."""

    def __init__(self, n_latent: int, length: int, n_out: int) -> None:
        super().__init__()
        self.network = _ConvolutionalDecoder(n_latent, 64, (1, length), width=128)
        self.symbols = nn.Linear(64, n_out)

    def forward(self, z: Tensor) -> Tensor:
        return self.symbols(torch.relu(self.network(z)).squeeze(2).mT)


class _Reshape(nn.Module):
    """Rows of another shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(len(x), *self.shape)

    def extra_repr(self) -> str:
        return f"{self.shape}"


def _mlp(*sizes: int) -> list[nn.Module]:
    """Linear layers with ReLU between."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return layers[:-1]


def _sizes(sides: tuple[int, int]) -> list[tuple[int, int]]:
    """The sizes of an image on its way down: sides above 4 are halved, and rounded up."""
    sizes = [sides]
    while max(sizes[-1]) > 4:
        height, width = sizes[-1]
        sizes.append((_half(height), _half(width)))
    return sizes


def _half(side: int) -> int:
    return (side + 1) // 2 if side > 4 else side


class _Geometry(TypedDict):
    kernel_size: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]


def _geometry(sides: tuple[int, int]) -> _Geometry:
    """The convolution from these sides to the next smaller ones; transposed, it gives exactly these sides back."""
    height, width = sides
    return {
        "kernel_size": (_kernel(height), _kernel(width)),
        "stride": (1 + (height > 4), 1 + (width > 4)),
        "padding": (int(height > 1), int(width > 1)),
    }


def _kernel(side: int) -> int:
    if side == 1:
        return 1
    return 4 if side > 4 and side % 2 == 0 else 3


def _widths(n: int, width: int) -> list[int]:
    """The channels of n layers: half of the last width at first, where images are large."""
    return [width // 2] * (n // 2) + [width] * (n - n // 2)
