"""Real and positive columns side by side: normal densities of numbers, or of their logarithms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from ._gaussian import Gaussian, Parameters, natural
from ._group import Group, How, Statistics, spread
from ._kind import ColumnKind, Encoding
from ._logarithm import from_logarithm

SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-3, 1e20  # of HI-VAE, whose positive columns have 1 at most
LARGEST_EXPONENT = 80.0  # beyond every column, and its square is still a number


class Numbers(Group):
    """Real columns, then positive ones: one normal density for all, of numbers or of their logarithms."""

    normalised = True
    density: Gaussian
    positive: Tensor  # [n]
    largest_zero: Tensor  # [n], up to here positive numbers are zeros

    def __init__(self, columns: Sequence[NumberColumn], units: Tensor, parameters: Parameters) -> None:
        super().__init__(columns, units, parameters)
        self.register_buffer("positive", torch.tensor([c.logarithmic for c in columns]), persistent=False)
        zeros = torch.tensor([c.largest_zero for c in columns], dtype=torch.float64)
        self.register_buffer("largest_zero", zeros, persistent=False)

    @staticmethod
    def _density(columns: Sequence[NumberColumn], parameters: Parameters) -> Gaussian:
        return Gaussian(len(columns), parameters)

    def value(self, x: Tensor) -> Tensor:
        """Cells in the units of the data."""
        return self._number(x, torch.zeros_like(x), "mode")

    def point(self, eta: Tensor, how: How) -> Tensor:
        """The mode or the mean, of a log-normal where the column is positive."""
        return self._number(*self.density.moments(eta), how)

    def expectation(self, eta: Tensor) -> Tensor:
        """The mean."""
        return self.point(eta, "mean")

    def _number(self, mean: Tensor, variance: Tensor, how: How) -> Tensor:
        """Units of the data from moments of the density."""
        centre, scale, _, offset = (spread(unit, mean) for unit in self.units)
        x = centre + scale * mean
        squares = variance * scale.square()
        exponent = x - squares if how == "mode" else x + 0.5 * squares
        number = from_logarithm(exponent, offset, self.largest_zero, LARGEST_EXPONENT)
        return torch.where(self.positive, number, x)

    def natural(self, locations: Sequence[Tensor], scales: Sequence[Tensor], statistics: Statistics | None) -> Tensor:
        """From means and unconstrained variances, carried back by the statistics of the batch."""
        mean = torch.cat([*locations], -1)
        variance = F.softplus(torch.cat([*scales], -1)).clamp(SMALLEST_VARIANCE, LARGEST_VARIANCE)
        variance = torch.where(self.positive, variance.clamp(max=1.0), variance)
        if statistics is not None:
            centre, deviation = (t.unsqueeze(1) for t in statistics)
            mean, variance = centre + deviation * mean, deviation.square() * variance
        return natural(mean, variance)


class NumberColumn(ColumnKind):
    """A real or a positive column."""

    group = Numbers
    logarithmic: ClassVar[bool]  # whether the density is that of the logarithm

    @property
    @abstractmethod
    def largest_zero(self) -> float:
        """Up to here a positive number is a zero that was raised."""

    def inputs(self, x: Tensor, encoding: Encoding) -> Tensor:
        """The number."""
        return x.unsqueeze(-1)

    @property
    def n_scales(self) -> int:
        """The variance."""
        return 1
