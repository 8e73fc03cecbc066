"""A classifier of images that sees more than the published one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from torch import Tensor, nn

from ...common import check_integer
from ._classifiers import checked_image

WIDTHS = (32, 64, 128)


class DeepImageClassifier(nn.Module):
    """Three blocks of two convolutions, and two linear layers: images ``[B, C, H, W]`` to log-probabilities.

    On photographs it is right far more often than the published layers (`ImageClassifier`), which get five of six
    digits of SVHN right: what is generated cannot be judged better than what is real. It has 550,000 weights at
    (3, 32, 32). Its learning rate falls to zero along half a cosine.

    Args:
        shape: Channels, height and width, the latter at least 8.
        n_classes: Number of classes.
    """

    decays: ClassVar[bool] = True
    """Whether the learning rate falls in training."""

    def __init__(self, shape: Sequence[int], n_classes: int = 10) -> None:
        super().__init__()
        check_integer("n_classes", n_classes)
        n_channels, height, width = checked_image(shape)
        halved = 2 ** len(WIDTHS)
        n_features = WIDTHS[-1] * (height // halved) * (width // halved)
        self.layers = nn.Sequential(
            *(layer for n_in, n_out in pairwise([n_channels, *WIDTHS]) for layer in _block(n_in, n_out)),
            *(nn.Flatten(), nn.Dropout(), nn.Linear(n_features, 128), nn.ReLU(), nn.Dropout()),
            *(nn.Linear(128, n_classes), nn.LogSoftmax(-1)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Log-probabilities ``[B, n_classes]``."""
        return self.layers(x)


def _block(n_in: int, n_out: int) -> list[nn.Module]:
    """Two convolutions, each with batch norm, and half of every side."""
    layers: list[nn.Module] = []
    for n in (n_in, n_out):
        layers += [nn.Conv2d(n, n_out, 3, padding=1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU()]
    return [*layers, nn.MaxPool2d(2)]
