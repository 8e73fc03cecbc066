"""Real columns: normal, with the mean and the deviation of training rows as units."""

from __future__ import annotations

import numpy as np

from ..schema import Kind
from ._kind import Array, PositiveRule, Units
from ._numbers import NumberColumn


class RealColumn(NumberColumn):
    """Any number: (x - centre) / scale has mean 0 and standard deviation 1."""

    kind = Kind.REAL
    logarithmic = False
    largest_zero = 0.0

    def fit(self, seen: Array, rule: PositiveRule) -> Units:
        """Mean and standard deviation."""
        return Units(float(seen.mean()), deviation(seen)) if seen.size else Units()


def deviation(values: Array) -> float:
    """The standard deviation, or 1 for a column that is constant in training."""
    found = float(values.std())
    # Rounding makes the deviation of equal numbers differ from zero.
    return found if found > 1e-12 * float(np.abs(values).max()) else 1.0
