"""The line between the nearest cells of a column: what a guess should beat, and what it is mixed with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..frames import RawTable
from ..schema import Schema
from ._histories import Array

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the model in the guess of a number; a class is one's or the other's


def on_the_line(table: RawTable, times: Array, visits: Sequence[NDArray[np.intp]], schema: Schema) -> Array:
    """Guesses from the cells of the same history and column alone, ``[N, D]``.

    Numbers lie on the straight line between the nearest cells before and after, and stay as they are beyond the
    first and the last; a class is that of the nearest visit. NaN where a history has no cell of a column.
    """
    found = np.full(table.values.shape, np.nan)
    for rows in visits:
        for d, column in enumerate(schema):
            known = rows[table.observed[rows, d]]
            if known.size and column.kind.numeric:
                found[rows, d] = np.interp(times[rows], times[known], table.values[known, d])
            elif known.size:
                nearest = np.abs(times[rows, None] - times[known]).argmin(1)
                found[rows, d] = table.values[known[nearest], d]
    return found


def mixed(guess: Array, line: Array, shares: Array, schema: Schema) -> Array:
    """Guesses of a model moved towards the line, as far as the share of the model in each column says."""
    numeric = np.array([column.kind.numeric for column in schema])
    between = np.where(numeric, shares * guess + (1 - shares) * line, np.where(shares > 0, guess, line))
    return np.where(np.isnan(line), guess, between)


def best_shares(truth: Array, guess: Array, line: Array, scored: NDArray[np.bool_], schema: Schema) -> Array:
    """For every column the share of the model with the lowest loss on the scored cells; 1 where none is scored.

    What is scored is little, so the model has to be better than the line by more than a standard error.
    """
    numeric = np.array([column.kind.numeric for column in schema])
    guesses = np.stack([mixed(guess, line, np.full(len(schema), share), schema) for share in SHARES])
    losses = np.where(numeric, (guesses - truth) ** 2, guesses != truth)  # [S, N, D]
    return np.array([_best_share(losses[:, scored[:, d], d]) for d in range(len(schema))])


def _best_share(losses: Array) -> float:
    """The share of the lowest mean loss ``[S, cells]``, if that is clearly below the loss of the line."""
    if not losses.size:
        return 1.0
    differences = losses - losses[0]
    best = len(SHARES) - 1 - int(differences.mean(1)[::-1].argmin())  # the largest share, where several are as good
    noise = differences[best].std() / np.sqrt(differences.shape[1])
    return SHARES[best] if differences[best].mean() < -noise else SHARES[0]
