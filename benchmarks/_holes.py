"""A table with cells removed: what an imputer is given, and what is kept back to judge it by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from _tables import load
from numpy.typing import NDArray

from evenhand.tables import Schema, at_random, completely_at_random, depending_on_values
from evenhand.tables.frames import read

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
MECHANISMS = ("completely_at_random", "at_random", "depending_on_values")
FITTED, REMOVED = 0.7, 0.2


@dataclass(frozen=True, eq=False)
class Holes:
    """70 % of the rows to learn from and the others to fill, both with 20 % of all cells removed.

    Attributes:
        frame, schema: The table as it was.
        truth: Its cells, NaN where it had holes itself, ``[N, D]``; categories as codes.
        removed: Cells that were there and are not shown, ``[N, D]``.
        fitted, tested: Positions of rows.
        seed: Of the split and the removal, and for the imputer.
    """

    frame: pd.DataFrame
    schema: Schema
    truth: Array
    removed: Mask
    fitted: NDArray[np.intp]
    tested: NDArray[np.intp]
    seed: int

    @classmethod
    def of(cls, name: str, seed: int, mechanism: str = MECHANISMS[0]) -> Holes:
        frame, schema = load(name)
        table = read(frame, schema)
        truth = np.where(table.observed, table.values, np.nan)
        order = np.random.default_rng(seed).permutation(len(truth))
        fitted, tested = np.split(order, [int(FITTED * len(order))])
        removed = _removed(truth, seed, mechanism) & table.observed
        return cls(frame, schema, truth, removed, np.sort(fitted), np.sort(tested), seed)

    @cached_property
    def shown(self) -> Array:
        """All rows with NaN in the holes."""
        return np.where(self.removed, np.nan, self.truth)

    @property
    def train(self) -> Array:
        return self.shown[self.fitted]

    @property
    def test(self) -> Array:
        return self.shown[self.tested]

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The rows to learn from and those to fill, as a file with empty cells is read."""
        holes = self.frame.astype(object).where(~np.isnan(self.shown)).infer_objects()
        return holes.iloc[self.fitted], holes.iloc[self.tested]


def _removed(truth: Array, seed: int, mechanism: str) -> Mask:
    if mechanism == "completely_at_random":
        return completely_at_random(truth.shape, REMOVED, seed)
    return {"at_random": at_random, "depending_on_values": depending_on_values}[mechanism](truth, REMOVED, seed)
