"""The paper's networks for MNIST, SVHN and the digits' names.

Every encoder gives a mean and a positive scale, ``[B, n_latent]`` each. The sizes and the initialisation of all
layers are the published ones. Some are computed in another way: on a GPU, nearly half of the time of the published
ones went into moving channels back and forth.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...common import check_integer
from ...modalities.networks import with_channels_last

EPSILON = 1e-6
"""What is added to posterior scales."""

REGISTER = 16
"""Numbers that a processor computes with at once."""

ScaleName = Literal["softmax", "softplus"]
"""How scales of posteriors become positive: with a softmax, as published, those of a row sum to their number, and one
that is large drives others to zero; with a softplus each has its own."""


class MNISTEncoder(nn.Module):
    """Images ``[B, 1, 28, 28]`` to posteriors.

    Args:
        n_latent: Number of latent variables.
        n_hidden: Width of the hidden layers.
        n_layers: Number of hidden layers; the paper's text has 2, its code 1.
        scale: How scales become positive.
    """

    def __init__(
        self, n_latent: int = 20, n_hidden: int = 400, n_layers: int = 1, *, scale: ScaleName = "softmax"
    ) -> None:
        super().__init__()
        self._positive = _POSITIVE[scale]
        _check(n_latent=n_latent, n_hidden=n_hidden, n_layers=n_layers)
        self.hidden = nn.Sequential(nn.Flatten(), *_hidden_layers(784, n_hidden, n_layers))
        self.mean = nn.Linear(n_hidden, n_latent)
        self.scale = nn.Linear(n_hidden, n_latent)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale, ``[B, n_latent]`` each."""
        h = self.hidden(x)
        return self.mean(h), self._positive(self.scale(h))


class MNISTDecoder(nn.Module):
    """Latent variables to images ``[N, 1, 28, 28]`` in [0, 1].

    The published code also keeps them 1e-6 away from 0 and 1, which a Laplace likelihood has no need of.

    Args:
        n_latent: Number of latent variables.
        n_hidden: Width of the hidden layers.
        n_layers: Number of hidden layers.
    """

    def __init__(self, n_latent: int = 20, n_hidden: int = 400, n_layers: int = 1) -> None:
        super().__init__()
        _check(n_latent=n_latent, n_hidden=n_hidden, n_layers=n_layers)
        self.hidden = nn.Sequential(*_hidden_layers(n_latent, n_hidden, n_layers))
        self.pixels = nn.Linear(n_hidden, 784)

    def forward(self, z: Tensor) -> Tensor:
        """Means of pixels."""
        return self.pixels(self.hidden(z)).sigmoid().unflatten(1, (1, 28, 28))


class SVHNEncoder(nn.Module):
    """Images ``[B, 3, 32, 32]`` to posteriors.

    Args:
        n_latent: Number of latent variables.
        scale: How scales become positive.
    """

    def __init__(self, n_latent: int = 20, *, scale: ScaleName = "softmax") -> None:
        super().__init__()
        self._positive = _POSITIVE[scale]
        _check(n_latent=n_latent)
        self.hidden = nn.Sequential(
            *(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU()),
            *(nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU()),
            *(nn.Conv2d(64, 128, 4, 2, 1), nn.ReLU()),
        )
        self.mean = _ToPoint(nn.Conv2d(128, n_latent, 4))
        self.scale = _ToPoint(nn.Conv2d(128, n_latent, 4))
        with_channels_last(self)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale, ``[B, n_latent]`` each."""
        h = self.hidden(x.contiguous(memory_format=torch.channels_last))
        return self.mean(h), self._positive(self.scale(h))


class SVHNDecoder(nn.Module):
    """Latent variables to images ``[N, 3, 32, 32]`` in [0, 1], with channels last in memory.

    Args:
        n_latent: Number of latent variables.
    """

    def __init__(self, n_latent: int = 20) -> None:
        super().__init__()
        _check(n_latent=n_latent)
        self.layers = nn.Sequential(
            *(_FromPoint(nn.ConvTranspose2d(n_latent, 128, 4)), nn.ReLU()),
            *(_Twice(nn.ConvTranspose2d(128, 64, 4, 2, 1)), nn.ReLU()),
            *(_Twice(nn.ConvTranspose2d(64, 32, 4, 2, 1)), nn.ReLU()),
            *(_Twice(nn.ConvTranspose2d(32, 3, 4, 2, 1)), nn.Sigmoid()),
        )
        with_channels_last(self)

    def forward(self, z: Tensor) -> Tensor:
        """Means of pixels."""
        return self.layers(z)


class TextEncoder(nn.Module):
    """Texts of 8 symbols, one-hot ``[B, 8, n_symbols]``, to posteriors.

    The published convolutions over positions are computed as those of images of height 1, whose channels can stay
    last in memory, and the first as a linear layer on every symbol.

    Args:
        n_latent: Number of latent variables.
        n_symbols: Size of the alphabet.
    """

    def __init__(self, n_latent: int = 20, n_symbols: int = 71) -> None:
        super().__init__()
        _check(n_latent=n_latent, n_symbols=n_symbols)
        self.embedding = nn.Linear(n_symbols, 128)
        self.hidden = nn.Sequential(
            *(nn.Conv2d(128, 128, (1, 4), (1, 2), (0, 1)), nn.ReLU()),
            *(_ToPoint(nn.Conv2d(128, 128, (1, 4))), nn.ReLU()),
        )
        self.mean = nn.Linear(128, n_latent)
        self.scale = nn.Linear(128, n_latent)
        with_channels_last(self)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale, ``[B, n_latent]`` each."""
        symbols = self.embedding(x).relu()  # [B, 8, 128]
        h = self.hidden(symbols.unsqueeze(1).movedim(-1, 1))
        return self.mean(h), functional.softplus(self.scale(h)) + EPSILON


class TextDecoder(nn.Module):
    """Latent variables to the logits of 8 symbols, ``[N, 8, n_symbols]``.

    Args:
        n_latent: Number of latent variables.
        n_symbols: Size of the alphabet.
    """

    def __init__(self, n_latent: int = 20, n_symbols: int = 71) -> None:
        super().__init__()
        _check(n_latent=n_latent, n_symbols=n_symbols)
        self.hidden = nn.Sequential(
            nn.Linear(n_latent, 128),
            *(_FromPoint(nn.ConvTranspose2d(128, 128, (1, 4))), nn.ReLU()),
            *(_TwiceInLine(128, 128, (1, 4), (1, 2), (0, 1)), nn.ReLU()),
        )
        self.symbols = nn.Linear(128, n_symbols)
        with_channels_last(self)

    def forward(self, z: Tensor) -> Tensor:
        """Logits of symbols, not normalised."""
        return self.symbols(self.hidden(z).squeeze(2).mT)


class _FromPoint(nn.Module):
    """A transposed convolution of a single point, ``[N, n_in]`` to ``[N, n_out, h, w]``: a matrix product.

    Its output has channels last in memory, without a copy.
    """

    def __init__(self, convolution: nn.ConvTranspose2d) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, z: Tensor) -> Tensor:
        weight, bias = self.convolution.weight, self.convolution.bias  # [n_in, n_out, h, w], [n_out]
        assert bias is not None
        n_in, n_out, h, w = weight.shape
        flat = torch.addmm(bias.repeat(h * w), z, weight.permute(0, 2, 3, 1).reshape(n_in, -1))
        return flat.view(len(z), h, w, n_out).permute(0, 3, 1, 2)


class _Twice(nn.Module):
    """A transposed convolution with kernel 4, stride 2 and padding 1, which doubles an image.

    Three ways to the same numbers. As an ordinary convolution with kernel 3 that gives all four pixels of a square at
    once: 5 of 9 of its products are with zeros, and on a GPU it is still faster than a transposed one. As one matrix
    product, whose results overlap and are added: nothing is multiplied by zero, but there is four times as much to
    write, which pays where the output has few channels and the sums are compiled into what follows. And as it is
    written.
    """

    taps: Tensor  # [16, 36]: which of 4 x 4 weights is at (phase, place) of both axes, each 2 x 3

    def __init__(self, convolution: nn.ConvTranspose2d) -> None:
        super().__init__()
        self.convolution = convolution
        # even pixels see the one before with weight 3 and that at their place with 1; odd ones 2 there and 0 behind
        axis = torch.zeros(4, 6)
        axis[[3, 1, 2, 0], [0, 1, 4, 5]] = 1.0
        self.register_buffer("taps", torch.kron(axis, axis), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        few = 4 * self.convolution.out_channels <= REGISTER
        if few and _is_compiled_for_gpu(x):
            return self.as_product(x)
        return self.in_squares(x) if few or x.is_cuda else self.convolution(x)

    def in_squares(self, x: Tensor) -> Tensor:
        """The same numbers from one convolution and a reordering."""
        weight, bias = self.convolution.weight, self.convolution.bias  # [n_in, n_out, 4, 4], [n_out]
        assert bias is not None
        n_out = weight.shape[1]
        parts = (weight.flatten(2) @ self.taps.to(weight.dtype)).unflatten(
            2, (2, 3, 2, 3)
        )  # a product needs no sorting
        kernel = parts.permute(2, 4, 1, 0, 3, 5).flatten(0, 2).contiguous(memory_format=torch.channels_last)
        squares = functional.conv2d(x, kernel, bias.repeat(4), padding=1)  # [N, 4 n_out, h, w]
        n, _, h, w = squares.shape
        pixels = squares.permute(0, 2, 3, 1).view(n, h, w, 2, 2, n_out)
        return pixels.transpose(2, 3).reshape(n, 2 * h, 2 * w, n_out).permute(0, 3, 1, 2)

    def as_product(self, x: Tensor) -> Tensor:
        """The same numbers from one matrix product and sums of its results where they overlap."""
        weight, bias = self.convolution.weight, self.convolution.bias
        assert bias is not None
        n_in, n_out = weight.shape[:2]
        pixels = x.permute(0, 2, 3, 1)  # [N, h, w, n_in]
        parts = (pixels @ weight.permute(0, 2, 3, 1).reshape(n_in, -1)).unflatten(-1, (4, 4 * n_out))
        columns = _overlap(parts, 1).unflatten(-1, (4, n_out))  # [N, 2 h, w, 4, n_out]
        return (_overlap(columns, 2) + bias).permute(0, 3, 1, 2)


class _TwiceInLine(nn.ConvTranspose2d):
    """The same along one line, with kernel (1, 4), stride (1, 2) and padding (0, 1)."""

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self.as_product(x) if _is_compiled_for_gpu(x) else super().forward(x, output_size)

    def as_product(self, x: Tensor) -> Tensor:
        """The same numbers from one matrix product and sums of its results where they overlap."""
        assert self.bias is not None
        n_in, n_out = self.weight.shape[:2]
        matrix = self.weight.squeeze(2).movedim(1, -1).reshape(n_in, -1)
        parts = (x.squeeze(2).mT @ matrix).unflatten(-1, (4, n_out))  # [N, w, 4, n_out]
        return (_overlap(parts, 1) + self.bias).mT.unsqueeze(2)


def _is_compiled_for_gpu(x: Tensor) -> bool:
    return x.is_cuda and torch.compiler.is_compiling()


def _overlap(parts: Tensor, axis: int) -> Tensor:
    """Sums where four numbers for every place of an axis overlap, two places further for the next one.

    Args:
        parts: Numbers ``[N, ..., 4, m]``, m of them for each of the places -1, 0, 1 and 2 of twice as many.
        axis: The axis that is doubled.
    """
    before, here, next_, after = parts.unbind(-2)
    zero = torch.zeros_like(here.narrow(axis, 0, 1))
    n = here.shape[axis]
    even = here + torch.cat([zero, after.narrow(axis, 0, n - 1)], axis)
    odd = next_ + torch.cat([before.narrow(axis, 1, n - 1), zero], axis)
    return torch.stack([even, odd], axis + 1).flatten(axis, axis + 1)


class _ToPoint(nn.Module):
    """A convolution of an image of the kernel's size, ``[B, n_in, h, w]`` to ``[B, n_out]``: a matrix product."""

    def __init__(self, convolution: nn.Conv2d) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, x: Tensor) -> Tensor:
        weight = self.convolution.weight.permute(0, 2, 3, 1)  # [n_out, h, w, n_in]
        return functional.linear(x.permute(0, 2, 3, 1).flatten(1), weight.flatten(1), self.convolution.bias)


def _hidden_layers(n_in: int, n_hidden: int, n_layers: int) -> list[nn.Module]:
    sizes = [n_in, *[n_hidden] * n_layers]
    return [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]


def _shared_scale(raw: Tensor) -> Tensor:
    """Positive scales that sum to their number in every row."""
    return raw.softmax(-1) * raw.shape[-1] + EPSILON


def _own_scale(raw: Tensor) -> Tensor:
    return functional.softplus(raw) + EPSILON


_POSITIVE: dict[str, Callable[[Tensor], Tensor]] = {"softmax": _shared_scale, "softplus": _own_scale}


def _check(**counts: int) -> None:
    for name, value in counts.items():
        check_integer(name, value)
