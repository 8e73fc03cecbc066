"""Classifiers that judge generated images and texts."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from ...common import check_integer
from ...modalities.networks import SMALLEST_IMAGE, checked_shape, is_image


class ImageClassifier(nn.Module):
    """Two convolutions and two linear layers: images ``[B, C, H, W]`` in [0, 1] to log-probabilities of classes.

    At (1, 28, 28) and (3, 32, 32) it has the layers of the classifiers the paper judges MNIST and SVHN with; along a
    side shorter than 28, convolutions are padded.

    Args:
        shape: Channels, height and width, the latter at least 8.
        n_classes: Number of classes.
    """

    def __init__(self, shape: Sequence[int], n_classes: int = 10) -> None:
        super().__init__()
        check_integer("n_classes", n_classes)
        n_channels, *sides = checked_image(shape)
        padding = (_padding(sides[0]), _padding(sides[1]))
        n_features = 20 * _side_left(sides[0]) * _side_left(sides[1])
        self.layers = nn.Sequential(
            *(nn.Conv2d(n_channels, 10, 5, padding=padding), nn.MaxPool2d(2), nn.ReLU()),
            *(nn.Conv2d(10, 20, 5, padding=padding), nn.Dropout2d(), nn.MaxPool2d(2), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(n_features, 50), nn.ReLU(), nn.Dropout()),
            *(nn.Linear(50, n_classes), nn.LogSoftmax(-1)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Log-probabilities ``[B, n_classes]``."""
        return self.layers(x)


class TextClassifier(nn.Module):
    """Two residual blocks over positions: texts ``[B, T, n_symbols]`` to log-probabilities of classes.

    For texts of 8 symbols this is the classifier the paper judges text with, but for its last function, a sigmoid
    there: the class found is the same, and here probabilities sum to one. What longer texts leave is averaged.

    Args:
        n_symbols: Size of the alphabet.
        n_classes: Number of classes.
    """

    def __init__(self, n_symbols: int = 71, n_classes: int = 10) -> None:
        super().__init__()
        check_integer("n_symbols", n_symbols)
        check_integer("n_classes", n_classes)
        self.n_symbols = n_symbols
        self.embedding = nn.Conv1d(n_symbols, 128, 1)
        self.blocks = nn.Sequential(_Residual(128, 192, padding=1), _Residual(192, 128, padding=0))
        self.head = nn.Sequential(nn.Dropout(), nn.Linear(128, n_classes), nn.LogSoftmax(-1))

    def forward(self, x: Tensor) -> Tensor:
        """Log-probabilities ``[B, n_classes]`` for one-hot symbols or their probabilities."""
        if x.ndim != 3 or x.shape[1] < 8 or x.shape[2] != self.n_symbols:
            raise ValueError(f"x should be [B, T, {self.n_symbols}] with T of at least 8. Found {list(x.shape)}.")
        return self.head(self.blocks(self.embedding(x.mT)).mean(-1))


class _Residual(nn.Module):
    """Half as many positions, with normalisation and activation before every convolution."""

    def __init__(self, n_in: int, n_out: int, padding: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            *(nn.BatchNorm1d(n_in), nn.ReLU(), nn.Conv1d(n_in, n_in, 1)),
            *(nn.BatchNorm1d(n_in), nn.ReLU(), nn.Conv1d(n_in, n_out, 4, 2, padding)),
        )
        self.shortcut = nn.Sequential(nn.Conv1d(n_in, n_out, 4, 2, padding), nn.BatchNorm1d(n_out))

    def forward(self, x: Tensor) -> Tensor:
        return self.shortcut(x) + 0.3 * self.branch(x)


def _padding(side: int) -> int:
    return 0 if side >= 28 else 2


def _side_left(side: int) -> int:
    """A side after both convolutions, each halved after it."""
    lost = 4 - 2 * _padding(side)
    return ((side - lost) // 2 - lost) // 2


def checked_image(shape: Sequence[int]) -> tuple[int, ...]:
    """Channels, height and width, or an error."""
    sizes = checked_shape("shape", shape)
    if not is_image(sizes):
        raise ValueError(f"shape should be (C, H, W) with sides of at least {SMALLEST_IMAGE}. Found {sizes}.")
    return sizes
