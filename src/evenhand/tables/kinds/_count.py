"""Count columns: Poisson densities in natural parameters, from 0 or from 1."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ..schema import Kind
from ._density import Density
from ._gaussian import Parameters
from ._group import Group, How, Statistics, spread
from ._kind import Array, ColumnKind, Encoding, Mask, PositiveRule, Units

LOG_RATES = (-14.0, 16.0)  # rates from 1e-6 to 9e6


class Poisson(Density):
    r"""n Poisson columns with log-rates :math:`\eta`: :math:`\log p = x \eta - e^\eta - \log x!`.

    The slope is :math:`x - e^\eta`. Outside of a wide range the rate stays at its bound while the slope still
    points back, so that one wild step cannot end the training.

    Args:
        n: Number of columns.
    """

    def __init__(self, n: int) -> None:
        super().__init__(range(n), n)

    def left_out(self, x: Tensor) -> Tensor:
        """log x!, which no parameter depends on."""
        return torch.lgamma(x + 1)

    def log_prob(self, eta: Tensor, x: Tensor, raw: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Log-probabilities but for the term log x!, and their slopes in eta."""
        bounded = eta.clamp(*LOG_RATES)
        rate = bounded.exp()
        return x * bounded - rate, x - rate

    def marginal(self, mean: Tensor) -> Tensor:
        """Log-rates for given mean counts."""
        return mean.clamp(min=1e-3).log()

    def expectation(self, eta: Tensor) -> Tensor:
        """The rates."""
        return eta.clamp(*LOG_RATES).exp()

    def guess(self, eta: Tensor) -> Tensor:
        """The rates, rounded down."""
        return self.expectation(eta).floor()

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every count."""
        return torch.poisson(self.expectation(eta), generator)


class Counts(Group):
    """Count columns side by side; the shift is their smallest count, 0 or 1."""

    @staticmethod
    def _density(columns: Sequence[CountColumn], parameters: Parameters) -> Poisson:
        return Poisson(len(columns))

    def value(self, x: Tensor) -> Tensor:
        """Counts as the data have them."""
        return x + spread(self.units[2], x)

    def point(self, eta: Tensor, how: How) -> Tensor:
        """The most probable counts, or the expected ones."""
        return self.value(self.density.guess(eta)) if how == "mode" else self.expectation(eta)

    def natural(self, locations: Sequence[Tensor], scales: Sequence[Tensor], statistics: Statistics | None) -> Tensor:
        """HI-VAE's rates are softplus of its outputs."""
        return torch.cat([F.softplus(x).clamp(min=1e-6).log() for x in locations], -1)


class CountColumn(ColumnKind):
    """Whole numbers from 0: x - shift, with shift 1 if all training counts are 1 or more."""

    kind = Kind.COUNT
    group = Counts

    def fit(self, seen: Array, rule: PositiveRule) -> Units:
        """The shift."""
        return Units(shift=float(seen.size > 0 and seen.min() >= 1))

    def encode(self, values: Array, observed: Mask, units: Units) -> Array:
        """A count below all of training would be negative: it is taken for the smallest one, and the user told."""
        encoded = super().encode(values, observed, units)
        low = (encoded < 0) & observed
        if low.any():
            warnings.warn(
                f"column {self.column.name!r} has {low.sum()} counts of 0, and none in training: they are taken "
                "for 1.",
                stacklevel=3,
            )
            encoded[low] = 0.0
        return encoded

    def inputs(self, x: Tensor, encoding: Encoding) -> Tensor:
        """log(1 + count), or the count itself."""
        return (x if encoding == "codes" else x.log1p()).unsqueeze(-1)
