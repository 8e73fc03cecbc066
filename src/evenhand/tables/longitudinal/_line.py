"""The line between the nearest cells of a column: what a guess should beat, and what it is mixed with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ..frames import RawTable
from ..inference import column_errors
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
    """For every column the share of the model with the lowest error on the scored cells; 1 where none is scored."""
    width = len(schema)
    candidates = [mixed(guess, line, np.full(width, share), schema) for share in SHARES]
    errors = [
        column_errors(torch.tensor(truth), torch.tensor(values), torch.tensor(scored), schema).numpy()
        for values in candidates
    ]
    # the model wins ties: it knows the other columns too
    best = np.array(SHARES)[::-1][np.nan_to_num(np.stack(errors[::-1])).argmin(0)]
    return np.where(scored.any(0), best, 1.0)
