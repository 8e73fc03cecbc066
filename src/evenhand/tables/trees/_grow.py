"""How boosted trees are grown: for every column, on the cells of the others as they are, with holes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from ..frames import RawTable
from ..schema import Column, Schema
from ._boosted import Boosted
from ._extract import extract

Array = NDArray[np.float64]
MOST_COLUMNS = 64
"""Of a table: the price of trees is the square of their number."""
WORK = 20_000_000  # rows times columns times outputs of all columns, which takes some ten seconds
WORK_OF_MODELS = 10_000_000  # the same, of all models of a column: where one is dear, it has to do
MOST_ROWS = 40_000  # for one model, with those that are there twice
MOST_MODELS = 3  # of a column, whose mean is better than each
MOST_CLASSES = 50  # of a column to guess: each costs as much as a number
MOST_CATEGORIES = 255  # of a column to look at, where it is split by sets of categories
LEAST_ROWS = 50  # to learn a column from
HIDE = 0.3  # of the cells of rows that are seen again, so that trees know rows with more holes
STOP = {"max_iter": 100, "early_stopping": True, "n_iter_no_change": 10}


def grow(table: RawTable, schema: Schema, *, seed: int) -> Iterator[Boosted]:
    """Boosted trees for all columns, one model after another: one for every column, then perhaps a second and third.

    Every model learns from rows as they are and once more with cells hidden, and is stopped by other rows.

    Args:
        table: The rows to learn from.
        schema: Their columns.
        seed: Of everything random.
    """
    cells = np.where(table.observed, table.values, np.nan)
    learnt = [d for d, column in enumerate(schema) if _outputs(column) <= MOST_CLASSES]
    price = len(schema) * sum(_outputs(column) for column in schema if _outputs(column) <= MOST_CLASSES)
    rows = min(2 * len(cells), MOST_ROWS, WORK // max(1, price))
    for number in range(min(MOST_MODELS, max(1, WORK_OF_MODELS // max(1, price * rows)))):
        for d in learnt:
            model = _grow_column(cells, d, schema, rows, np.random.default_rng([seed, number, d]))
            if model is not None:
                yield model


def _outputs(column: Column) -> int:
    """How many trees a step of boosting has."""
    return column.size if column.kind.nominal and column.size > 2 else 1


def _grow_column(cells: Array, d: int, schema: Schema, rows: int, rng: np.random.Generator) -> Boosted | None:
    known = rng.permutation(np.flatnonzero(~np.isnan(cells[:, d])))[:rows]
    if len(known) < LEAST_ROWS:
        return None
    stop, learn = np.split(known, [len(known) // 10])
    inputs = Inputs.of(cells[learn], d, schema)
    x, y = _seen_twice(inputs, cells[learn], d, rows, rng)
    x_stop, y_stop = _seen_twice(inputs, cells[stop], d, rows, rng)
    nominal = list(schema)[d].kind.nominal
    fair = np.isin(y_stop, y) if nominal else np.full(len(y_stop), True)  # classes never seen cannot be guessed
    if (y == y[0]).all() or not fair.any():
        return None
    model_class: Any = HistGradientBoostingClassifier if nominal else HistGradientBoostingRegressor
    model = model_class(categorical_features=inputs.categorical, random_state=int(rng.integers(2**31 - 1)), **STOP)
    model.fit(x, y, X_val=x_stop[fair], y_val=y_stop[fair])
    return extract(model, d, list(schema)[d].size if nominal else 0, inputs.features, inputs.seen)


def _seen_twice(
    inputs: Inputs, cells: Array, d: int, rows: int, rng: np.random.Generator
) -> tuple[Array, NDArray[np.float64]]:
    """Rows as they are, then, as far as there is room, with cells hidden; and the cells to guess."""
    hidden = np.where(rng.random(cells.shape) < HIDE, np.nan, cells)
    return inputs.encode(np.concatenate([cells, hidden])[:rows]), np.tile(cells[:, d], 2)[:rows]


@dataclass(frozen=True)
class Inputs:
    """What trees look at: columns of categories first, as scikit-learn has them, with the codes that occur.

    Attributes:
        features: Places of the columns in the schema.
        categorical: Which of them are split by sets of categories.
        seen: For those, the codes that occur; trees know them as 0, 1, 2 and so on.
    """

    features: list[int]
    categorical: list[bool]
    seen: dict[int, NDArray[np.intp]]

    @classmethod
    def of(cls, cells: Array, d: int, schema: Schema) -> Inputs:
        """All columns but one."""
        columns = list(schema)
        sets = [c for c in range(len(columns)) if columns[c].kind.nominal and columns[c].size <= MOST_CATEGORIES]
        others = [c for c in range(len(columns)) if c not in sets]
        seen = {c: np.unique(cells[~np.isnan(cells[:, c]), c]).astype(np.intp) for c in sets if c != d}
        features = [c for c in [*sets, *others] if c != d]
        return cls(features, [c in seen for c in features], seen)

    def encode(self, cells: Array) -> Array:
        """Rows ``[n, D]`` as a model takes them."""
        encoded = cells[:, self.features]
        for i, c in enumerate(self.features):
            if c in self.seen:
                known = np.isin(encoded[:, i], self.seen[c])
                encoded[:, i] = np.where(known, np.searchsorted(self.seen[c], encoded[:, i]), np.nan)
        return encoded
