"""Positive columns: log-normal, with the deviation of the logarithm as unit, and rules for zeros."""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from ..schema import Kind
from ._kind import Array, Mask, PositiveRule, Units
from ._logarithm import from_logarithm
from ._numbers import NumberColumn
from ._real import deviation

SMALLEST = 1e-20  # appendix E.1: what the paper adds to zeros
USUAL = 3.48e-4  # the median of what the published code draws and adds to it, Beta(0.2, 60)
LARGEST_LOG = 700.0  # exp of more is infinite


class PositiveColumn(NumberColumn):
    """Numbers above zero: (log(x + offset) - centre) / scale has standard deviation 1.

    The rule "log" leaves the centre at 0, as the paper's VAE has it; "centred" takes the mean; "log1p" does so too,
    with offset 1, as HI-VAE has it.
    """

    kind = Kind.POSITIVE
    logarithmic = True

    @property
    def largest_zero(self) -> float:
        """What the column's zero_offset becomes on the way through a model; 0 without one."""
        zero_offset = self.column.zero_offset
        if zero_offset is None or zero_offset == "published":
            return 0.0
        # the logarithm went through single precision
        return zero_offset * math.exp(1e-6 * max(1.0, abs(math.log(zero_offset))))

    def fit(self, seen: Array, rule: PositiveRule) -> Units:
        """Mean (by the rule) and standard deviation of the logarithm."""
        offset = float(rule == "log1p")
        if not seen.size:
            return Units(offset=offset)
        logarithms = np.log(seen + offset)
        centre = 0.0 if rule == "log" else float(logarithms.mean())
        return Units(centre, deviation(logarithms), offset=offset)

    def admit(self, values: Array, observed: Mask, offset: float, generator: np.random.Generator | None) -> Array:
        """Refuse what has no logarithm; zeros are raised where the column says so, or the offset does it for all."""
        if offset:
            if (values < 0).any():
                raise ValueError(
                    f"column {self.column.name!r} should hold no numbers below zero. Found {values.min():g}; make "
                    "it real in the schema."
                )
            return values
        raised: Array = np.maximum(values, self._floor(len(values), generator))
        low = raised[observed] <= 0
        if low.any():
            raise ValueError(
                f"column {self.column.name!r} should hold positive numbers only. Found {values[observed][low][0]:g}; "
                "give it a zero_offset in the schema or make it real."
            )
        return raised

    def _floor(self, n: int, generator: np.random.Generator | None) -> Array:
        zero_offset = self.column.zero_offset
        if zero_offset == "published":
            drawn = np.full(n, USUAL) if generator is None else generator.beta(0.2, 60.0, size=n)
            return SMALLEST + drawn
        return np.full(n, -np.inf if zero_offset is None else float(zero_offset))

    def encode(self, values: Array, observed: Mask, units: Units) -> Array:
        """The logarithm, in its units."""
        return super().encode(np.log(np.where(observed, values, 1.0) + units.offset), observed, units)

    def decode(self, values: Array, units: Units) -> Array:
        """Never below zero; numbers up to the column's zero_offset are zeros again if they were raised to it."""
        largest_zero = 0.0 if units.offset else self.largest_zero
        return from_logarithm(super().decode(values, units), units.offset, largest_zero, LARGEST_LOG)

    def log_stretch(self, values: Tensor, units: Units) -> Tensor:
        """The logarithm itself, which is what the exponential function stretches by."""
        return units.centre + units.scale * values
