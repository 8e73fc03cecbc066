"""Peers that fill the holes (NaN) of a table in original units: ``impute(values [N, D], schema, seed) -> [N, D]``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from evenhand.tables import Column, Schema

Array = NDArray[np.float64]
Imputer = Callable[[Array, Schema, int], Array]

DONORS = 6000


def mean_mode(values: Array, schema: Schema, seed: int) -> Array:
    """The mean of every number, the most frequent class."""
    guesses = [_trivial(cells, column) for cells, column in zip(values.T, schema, strict=True)]
    return _fill(values, np.broadcast_to(guesses, values.shape))


def nearest_neighbours(values: Array, schema: Schema, seed: int) -> Array:
    """The mean, and for classes the majority, of the five nearest rows; of many rows, 6000 random ones are donors."""
    code = _Code.of(values, schema, spare=False)
    table = code.encode(values)
    donors = table
    if len(table) > DONORS:
        donors = table[np.random.default_rng(seed).choice(len(table), DONORS, replace=False)]
    imputer = KNNImputer(n_neighbors=5, keep_empty_features=True).fit(donors)
    n_chunks = -(-len(table) // DONORS)  # to bound the table of distances
    filled = np.concatenate([imputer.transform(chunk) for chunk in np.array_split(table, n_chunks)])
    return _fill(values, code.decode(filled))


def iterative_ridge(values: Array, schema: Schema, seed: int) -> Array:
    """A Bayesian ridge regression per column, ten rounds.

    A class of k categories has k - 1 dummies. With all k, each would be predicted from its siblings, which are
    missing where it is missing, and the outcome would be the most frequent class.
    """
    code = _Code.of(values, schema, spare=True)
    imputer = IterativeImputer(random_state=seed, keep_empty_features=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        filled = imputer.fit_transform(code.encode(values))
    return _fill(values, code.decode(filled))


def boosted_trees(values: Array, schema: Schema, seed: int, *, rounds: int = 4) -> Array:
    """Gradient-boosted trees per column, on the fill so far, in the manner of missForest.

    Columns with fewest holes come first. As in missForest, the rounds end when the fill begins to change more
    than in the round before, and the fill of that round before is returned.

    Stekhoven and Bühlmann, "MissForest", Bioinformatics 28, 2012.
    """
    columns, holes = list(schema), np.isnan(values)
    order = [d for d in np.argsort(holes.sum(0), kind="stable") if 0 < holes[:, d].sum() < len(values)]
    fill, change = mean_mode(values, schema, seed), np.inf
    for _ in range(rounds):
        new = fill.copy()
        for d in order:
            new[holes[:, d], d] = _predict(new, d, ~holes[:, d], columns, seed)
        previous, change = change, _change(new, fill, holes, columns)
        if change > previous:
            break
        fill = new
    return _fill(values, fill)


IMPUTERS: dict[str, Imputer] = {
    "mean / mode": mean_mode,
    "nearest neighbours": nearest_neighbours,
    "iterative ridge": iterative_ridge,
    "boosted trees": boosted_trees,
}


def _trivial(cells: Array, column: Column) -> float:
    known = cells[~np.isnan(cells)]
    if not len(known):
        return 0.0
    return float(np.bincount(known.astype(int)).argmax() if column.kind.nominal else known.mean())


def _fill(values: Array, guesses: Array) -> Array:
    """The table with guesses in its holes and nowhere else."""
    filled = np.where(np.isnan(values), guesses, values)
    assert not np.isnan(filled).any()
    assert (filled == values)[~np.isnan(values)].all()
    return filled


@dataclass(frozen=True)
class _Code:
    """A table as standardised numbers and one dummy per class, or one less, with NaN at the holes."""

    columns: tuple[Column, ...]
    means: Array
    scales: Array
    spare: bool  # whether the last class goes without a dummy

    @classmethod
    def of(cls, values: Array, schema: Schema, *, spare: bool) -> _Code:
        known = np.where(np.isnan(values).all(0), 0.0, values)  # a column without a cell has no mean
        scales = np.nanstd(known, 0)
        return cls(tuple(schema), np.nanmean(known, 0), np.where(scales == 0, 1.0, scales), spare)

    def encode(self, values: Array) -> Array:
        return np.concatenate([self._encode(d, values[:, d]) for d in range(len(self.columns))], -1)

    def decode(self, table: Array) -> Array:
        ends = np.cumsum([self._width(d) for d in range(len(self.columns))])
        parts = np.split(table, ends[:-1], -1)
        return np.stack([self._decode(d, part) for d, part in enumerate(parts)], -1)

    def _width(self, d: int) -> int:
        column = self.columns[d]
        return column.size - self.spare if column.kind.nominal else 1

    def _encode(self, d: int, cells: Array) -> Array:
        if self.columns[d].kind.numeric:
            return ((cells - self.means[d]) / self.scales[d])[:, None]
        dummies = (cells[:, None] == np.arange(self._width(d))).astype(float)
        return np.where(np.isnan(cells)[:, None], np.nan, dummies)

    def _decode(self, d: int, part: Array) -> Array:
        if self.columns[d].kind.numeric:
            return part[:, 0] * self.scales[d] + self.means[d]
        if self.spare:
            part = np.column_stack([part, 1 - part.sum(-1)])
        return part.argmax(-1).astype(float)


def _predict(table: Array, d: int, known: NDArray[np.bool_], columns: list[Column], seed: int) -> Array:
    """Guesses for the cells of a column that are not known, from all other columns."""
    others = [c for c in range(len(columns)) if c != d]
    inputs, target = table[:, others], table[known, d]
    if (target == target[0]).all():
        return np.full((~known).sum(), target[0])
    model_class = HistGradientBoostingClassifier if columns[d].kind.nominal else HistGradientBoostingRegressor
    model = model_class(
        max_iter=50,
        categorical_features=[columns[c].kind.nominal and columns[c].size <= 255 for c in others],
        early_stopping=False,
        random_state=seed,
    )
    return model.fit(inputs[known], target).predict(inputs[~known])


def _change(new: Array, old: Array, holes: NDArray[np.bool_], columns: list[Column]) -> float:
    """How much a fill changed: the share of classes that did, the mean square of numbers over their variance."""
    changes = []
    for d, column in enumerate(columns):
        a, b = new[holes[:, d], d], old[holes[:, d], d]
        if len(a):
            changes.append((a != b).mean() if column.kind.nominal else np.mean((a - b) ** 2) / (new[:, d].var() or 1))
    return float(np.mean(changes)) if changes else 0.0
