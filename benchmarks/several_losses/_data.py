"""The data sets of both benchmarks: two images on top of each other, and two images of one digit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

from ._files import Labelled, mnist_like, svhn

OVERLAID = {
    "digits": ("mnist", "mnist"),
    "garments": ("fashion-mnist", "fashion-mnist"),
    "digit and garment": ("mnist", "fashion-mnist"),
}
SHARE = 6  # one in six training images is for validation
SHIFT = 8  # pixels from the upper left to the lower right image


class Examples(NamedTuple):
    """Rows: one tensor of bytes ``[N, ...]`` for each input, and a label for each loss ``[N, T]``."""

    inputs: tuple[Tensor, ...]
    labels: Tensor

    def to(self, device: torch.device) -> Examples:
        return Examples(tuple(x.to(device) for x in self.inputs), self.labels.to(device))

    def take(self, rows: Tensor | slice) -> Examples:
        return Examples(tuple(x[rows] for x in self.inputs), self.labels[rows])


Join = Callable[..., Examples]  # of two sources and a seed


@dataclass(frozen=True)
class Splits:
    """What is trained on, what choices are made by, and what is reported."""

    train: Examples
    validation: Examples
    test: Examples

    def to(self, device: torch.device) -> Splits:
        return Splits(self.train.to(device), self.validation.to(device), self.test.to(device))

    def first(self, n: int) -> Splits:
        """A small version, for tries."""
        return Splits(*(part.take(slice(n)) for part in (self.train, self.validation, self.test)))


@cache
def overlaid(name: str, folder: Path) -> Splits:
    """Two images on top of each other, one shifted to the lower right, 28 x 28 pixels; who is it, twice."""
    sources = [(mnist_like(n, "train", folder), mnist_like(n, "test", folder)) for n in OVERLAID[name]]
    return _joined(sources, _overlay)


@cache
def paired(folder: Path) -> Splits:
    """For every image of MNIST one of SVHN with the same digit."""
    sources = [(mnist_like("mnist", part, folder), svhn(part, folder)) for part in ("train", "test")]
    return _joined(list(zip(*sources, strict=True)), _pair)


def _joined(sources: Sequence[tuple[Labelled, Labelled]], join: Join) -> Splits:
    """Two sources, of training and test images each, made into one."""
    train, validation = zip(*(_parted(train) for train, _ in sources), strict=True)
    test = [test for _, test in sources]
    return Splits(join(*train, seed=0), join(*validation, seed=1), join(*test, seed=2))


def _parted(source: Labelled) -> tuple[Labelled, Labelled]:
    cut = len(source.labels) - len(source.labels) // SHARE
    return source.part(slice(cut)), source.part(slice(cut, None))


def _overlay(upper: Labelled, lower: Labelled, seed: int) -> Examples:
    order = torch.randperm(len(lower.labels), generator=torch.Generator().manual_seed(seed))
    pairs = zip(upper.images.split(5000), lower.images[order].split(5000), strict=True)
    images = torch.cat([_shrunk(u, v) for u, v in pairs])
    return Examples((images,), torch.stack([upper.labels, lower.labels[order]], -1))


def _shrunk(upper: Tensor, lower: Tensor) -> Tensor:
    """The brighter of two pixels on a larger canvas, then 28 x 28 again."""
    canvas = torch.maximum(pad(upper, (0, SHIFT, 0, SHIFT)), pad(lower, (SHIFT, 0, SHIFT, 0)))
    return interpolate(canvas.float(), size=(28, 28), mode="bilinear", antialias=True).round().byte()


def _pair(first: Labelled, second: Labelled, seed: int) -> Examples:
    generator = torch.Generator().manual_seed(seed)
    partner = torch.empty_like(first.labels)
    for digit in first.labels.unique():
        rows, others = (labels.eq(digit).nonzero().flatten() for labels in (first.labels, second.labels))
        partner[rows] = others[torch.randint(len(others), rows.shape, generator=generator)]
    # three losses, of both together and of each alone, have one label
    return Examples((first.images, second.images[partner]), first.labels.unsqueeze(-1).expand(-1, 3).contiguous())
