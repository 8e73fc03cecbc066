"""Generated numbers with the marginal distributions of the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
STEPS = 1_000


def quantiles(values: Array, observed: NDArray[np.bool_]) -> Array:
    """Observed values at equal steps of the distribution of every column, ``[STEPS, D]``."""
    grid = (np.arange(STEPS) + 0.5) / STEPS
    columns = [np.quantile(values[observed[:, d], d], grid, method="inverted_cdf") for d in range(values.shape[1])]
    return np.stack(columns, 1)


def match(values: Array, model: Array, data: Array, rng: np.random.Generator) -> Array:
    """Numbers at the same place in the distribution of the data as they have in that of the model.

    A density that is unimodal given z cannot draw a column's spikes, such as a working week of exactly 40 hours.
    Ranks, and with them the relations among columns, are the model's.

    Args:
        values: Draws of some columns, ``[n, D]``.
        model: Quantiles of the model's draws, ``[STEPS, D]``.
        data: Quantiles of the data.
        rng: Decides among equal values.
    """
    matched = np.empty_like(values)
    for d in range(values.shape[1]):
        low = np.searchsorted(model[:, d], values[:, d], side="left")
        high = np.searchsorted(model[:, d], values[:, d], side="right")
        place = low + rng.random(len(values)) * np.maximum(high - low, 1)
        matched[:, d] = data[np.minimum(place.astype(int), STEPS - 1), d]
    return matched
