"""How alike two columns or two pairs of columns are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats.contingency import association

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

BINS = 10


def kolmogorov_smirnov(a: Array, b: Array) -> float:
    """The largest difference of the empirical distribution functions; 1 if there is nothing to compare with."""
    a, b = np.sort(a[~np.isnan(a)]), np.sort(b[~np.isnan(b)])
    if not len(a) or not len(b):
        return 1.0 if len(a) or len(b) else np.nan
    both = np.concatenate([a, b])
    below_a = np.searchsorted(a, both, side="right") / len(a)
    below_b = np.searchsorted(b, both, side="right") / len(b)
    return float(np.abs(below_a - below_b).max())


def class_distance(a: Array, b: Array) -> float:
    """The total variation distance of the classes that are known; 1 if there is nothing to compare with."""
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    if not len(a) or not len(b):
        return 1.0 if len(a) or len(b) else np.nan
    return total_variation(a.astype(np.int64), b.astype(np.int64))


def total_variation(a: Codes, b: Codes) -> float:
    """Half the sum of the differences of the frequencies."""
    size = int(max(a.max(), b.max())) + 1
    p, q = np.bincount(a, minlength=size) / len(a), np.bincount(b, minlength=size) / len(b)
    return float(np.abs(p - q).sum() / 2)


def correlation(x: Array, y: Array) -> float:
    """Pearson's correlation over the complete rows; NaN if a column is constant there."""
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if not len(x) or (x == x[0]).all() or (y == y[0]).all():
        return np.nan
    x, y = x / np.abs(x).max(), y / np.abs(y).max()  # no square overflows
    return float(np.corrcoef(x, y)[0, 1])


def cramers_v(a: Codes, b: Codes) -> float:
    """Cramér's association of two columns of codes; NaN if one of them is constant."""
    _, a = np.unique(a, return_inverse=True)
    _, b = np.unique(b, return_inverse=True)
    shape = int(a.max()) + 1, int(b.max()) + 1
    if min(shape) < 2:
        return np.nan
    counts = np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1]).reshape(shape)
    return float(association(counts, method="cramer"))


def bin_edges(values: Array) -> Array:
    """The edges of bins of equal width over the range of the numbers; fewer where double precision has no more."""
    seen = values[~np.isnan(values)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    # from halves, because the width of the range may be too large a number
    return np.unique(2 * np.linspace(low / 2, high / 2, BINS + 1))


def cut(values: Array, edges: Array) -> Codes:
    """The number of every value's bin, from 1; 0 for a missing one. The last edge begins a bin of its own."""
    return np.where(np.isnan(values), 0, np.digitize(values, edges))
