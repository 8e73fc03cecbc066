"""The masks of an experiment: which cells are hidden, and by what rule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._raw import RawTable

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
STRENGTH = 2.0  # log-odds per standard deviation: a clear dependence, far from a threshold


def completely_at_random(shape: tuple[int, int], rate: float, seed: int) -> Mask:
    """Hide cells regardless of everything (MCAR).

    Args:
        shape: Rows and columns.
        rate: The part of all cells that is hidden; exact up to one cell. Every row keeps a cell.
        seed: For the draw.

    Returns:
        A mask ``[N, D]``, True where a cell is hidden.

    Example:
        >>> int(completely_at_random((100, 5), 0.2, seed=0).sum())
        100
    """
    return _hide_largest(np.zeros(shape), rate, np.random.default_rng(seed))


def at_random(values: Array, rate: float, seed: int) -> Mask:
    """Hide cells depending on other columns that are always observed (MAR).

    A quarter of the columns, at least one, stays whole. The log-odds that a cell of another column is hidden are
    linear in their ranks, with random coefficients.

    Args:
        values: The table, ``[N, D]``; NaN counts as average.
        rate: The part of all cells that is hidden; exact up to one cell.
        seed: For the columns that stay, the coefficients and the draw.
    """
    values, generator = _checked(values), np.random.default_rng(seed)
    d = values.shape[1]
    if d < 2:
        raise ValueError(f"values should have two columns or more, one of them always observed. Found {d}.")
    whole = generator.permutation(d)[: max(1, d // 4)]
    coefficients = generator.normal(size=(len(whole), d))
    coefficients *= STRENGTH / np.linalg.norm(coefficients, axis=0)
    log_odds = _standard_ranks(values)[:, whole] @ coefficients
    log_odds[:, whole] = -np.inf
    return _hide_largest(log_odds, rate, generator)


def depending_on_values(values: Array, rate: float, seed: int) -> Mask:
    """Hide cells depending on what they hold: large values more often (MNAR, self-masking).

    Args:
        values: The table, ``[N, D]``; NaN counts as average.
        rate: The part of all cells that is hidden; exact up to one cell. Every row keeps a cell.
        seed: For the draw.
    """
    return _hide_largest(STRENGTH * _standard_ranks(_checked(values)), rate, np.random.default_rng(seed))


def hide(table: RawTable, hidden: Mask) -> RawTable:
    """The table with more cells missing."""
    if hidden.shape != table.values.shape:
        raise ValueError(f"hidden should have the shape {list(table.values.shape)}. Found {list(hidden.shape)}.")
    return RawTable(table.values, table.observed & ~hidden)


def _hide_largest(log_odds: Array, rate: float, generator: np.random.Generator) -> Mask:
    """Hide cells with the given log-odds, up to the intercept that makes the rate exact.

    ``log_odds + noise > threshold`` with logistic noise is a logistic model; the threshold that hides k cells lies
    below the k-th largest. In every row the cell with the smallest sum is spared.
    """
    noisy = log_odds + generator.logistic(size=log_odds.shape)
    n, d = noisy.shape
    if n and d:
        noisy[np.arange(n), noisy.argmin(1)] = -np.inf
    k, possible = round(_checked_rate(rate) * noisy.size), int(np.isfinite(noisy).sum())
    if k > possible:
        raise ValueError(
            f"rate should be at most {possible / noisy.size:.3g}, so that every row keeps a cell and the columns "
            f"that others depend on stay whole. Found {rate}."
        )
    hidden = np.zeros(noisy.size, dtype=bool)
    hidden[np.argsort(-noisy, axis=None, kind="stable")[:k]] = True
    return hidden.reshape(noisy.shape)


def _standard_ranks(values: Array) -> Array:
    """Ranks within each column, with mean 0 and deviation 1, so that heavy tails do not decide alone."""
    result = np.zeros(values.shape)
    for d, column in enumerate(values.T):
        seen = ~np.isnan(column)
        ranks = np.unique(column[seen], return_inverse=True)[1].astype(np.float64)
        if ranks.size and ranks.max() > 0:
            result[seen, d] = (ranks - ranks.mean()) / ranks.std()
    return result


def _checked(values: Array) -> Array:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"values should have two axes. Found shape {list(values.shape)}.")
    return values


def _checked_rate(rate: float) -> float:
    if not 0 <= rate < 1:
        raise ValueError(f"rate should be at least 0 and below 1. Found {rate}.")
    return rate
