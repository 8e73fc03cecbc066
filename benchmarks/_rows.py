"""Rows to learn from and rows to judge by, and what a generator makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from _filled import Timed
from _tables import load
from numpy.typing import NDArray

from evenhand.tables import Schema
from evenhand.tables.frames import read

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """A table without its rows that have holes: 80 % to learn from, 20 % to judge by.

    Attributes:
        frame, schema: The table.
        train, test: Cells of the two parts, categories as codes.
        fitted: Positions of the rows to learn from in the frame.
        seed: Of the split, and for the generator.
    """

    frame: pd.DataFrame
    schema: Schema
    train: Array
    test: Array
    fitted: NDArray[np.intp]
    seed: int

    @classmethod
    def of(cls, name: str, seed: int) -> Rows:
        frame, schema = load(name)
        frame = frame[frame.notna().all(axis=1)]
        values = read(frame, schema).values
        order = np.random.default_rng(seed).permutation(len(values))
        train, test = np.split(order, [int(0.8 * len(order))])
        return cls(frame, schema, values[train], values[test], train, seed)

    @property
    def n(self) -> int:
        """How many rows are to be made: as many as there are to learn from."""
        return len(self.train)


@dataclass
class Generated(Timed):
    """New rows, under the name of the way that they were drawn if there are several.

    Attributes:
        tables: ``[n, D]`` each.
        seconds: Of the processor.
        note: What else is worth knowing.
    """

    tables: dict[str, Array] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    note: str = ""
