"""Columns of one density, side by side, and their way back to the units of the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from ._density import Density
from ._gaussian import Parameters

How = Literal["mode", "mean"]
Statistics = tuple[Tensor, Tensor]


class Group(nn.Module, ABC):
    """Columns of one density: in the units of the model by the density itself, in those of the data here.

    Args:
        columns: The columns, each as its kind has it; all have one number of categories.
        units: Centre, scale, shift and offset of every replica and column, ``[4, R, n]``.
        parameters: What unconstrained parameters of numbers stand for.
    """

    units: Tensor
    normalised: ClassVar[bool] = False  # whether HI-VAE normalises these columns by the statistics of the batch

    def __init__(self, columns: Sequence[Any], units: Tensor, parameters: Parameters) -> None:
        super().__init__()
        self.columns, self.density = list(columns), self._density(columns, parameters)
        self.n, self.n_targets = self.density.n, self.density.n_targets
        self.register_buffer("units", units, persistent=False)

    @staticmethod
    @abstractmethod
    def _density(columns: Sequence[Any], parameters: Parameters) -> Density:
        """The density of all columns."""

    def value(self, x: Tensor) -> Tensor:
        """Cells in the units of the data, from those of the model, ``[R, ..., n]``."""
        return x

    def point(self, eta: Tensor, how: How) -> Tensor:
        """The most probable cells, or expected numbers, in the units of the data."""
        return self.value(self.density.guess(eta))

    def expectation(self, eta: Tensor) -> Tensor:
        """Expected numbers in the units of the data, or the probabilities of categories."""
        return self.value(self.density.expectation(eta))

    @abstractmethod
    def natural(self, locations: Sequence[Tensor], scales: Sequence[Tensor], statistics: Statistics | None) -> Tensor:
        """Natural parameters from HI-VAE's outputs.

        Args:
            locations: What was computed from [y, s], for every column.
            scales: What was computed from s alone.
            statistics: Mean and deviation of real and positive columns in the batch; None to take them as they are.
        """

    def keep(self, index: Tensor) -> None:
        """Keep the units of some replicas only; those that all share stay."""
        if self.units.shape[1] > 1:
            self.units = self.units[:, index]


def spread(buffer: Tensor, like: Tensor) -> Tensor:
    """A buffer ``[R, n]`` in a shape that fits ``[R, ..., n]``."""
    return buffer.view(len(buffer), *[1] * (like.ndim - 2), -1)
