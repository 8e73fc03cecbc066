"""Peers that fill the holes (NaN) of a table in original units: ``impute(holes) -> Filled``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from _filled import N_DRAWS, Filled
from _holes import Holes
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from evenhand.tables import Column, Schema

Array = NDArray[np.float64]
DONORS = 6000


def mean_mode(holes: Holes) -> Filled:
    """The mean of every number, the most frequent class; draws are cells of other rows (hot deck)."""
    filled, test = Filled(), holes.test
    with filled.timed("fit and guess"):
        filled.guess = fill(test, constants(holes.train, holes.schema))
    with filled.timed("draws"):
        rng = np.random.default_rng(holes.seed)
        decks = [rng.choice(cells[~np.isnan(cells)], (N_DRAWS, len(test))) for cells in holes.train.T]
        filled.draws = fill(test, np.stack(decks, -1))
    return filled


def nearest_neighbours(holes: Holes) -> Filled:
    """The mean, and for classes the majority, of the five nearest rows; of many rows, 6000 random ones are donors."""
    filled = Filled()
    with filled.timed("fit and guess"):
        code = Code.of(holes.train, holes.schema, spare=False)
        donors = code.encode(holes.train)
        if len(donors) > DONORS:
            donors = donors[np.random.default_rng(holes.seed).choice(len(donors), DONORS, replace=False)]
        imputer = KNNImputer(n_neighbors=5, keep_empty_features=True).fit(donors)
        table = code.encode(holes.test)
        n_chunks = -(-len(table) // DONORS)  # to bound the table of distances
        guesses = np.concatenate([imputer.transform(chunk) for chunk in np.array_split(table, n_chunks)])
        filled.guess = fill(holes.test, code.decode(guesses))
    return filled


def iterative_ridge(holes: Holes) -> Filled:
    """A Bayesian ridge regression per column, ten rounds; draws from its posterior (chained equations).

    A class of k categories has k - 1 dummies. With all k, each would be predicted from its siblings, which are
    missing where it is missing, and the outcome would be the most frequent class.
    """
    filled = Filled(note=f"IterativeImputer; {N_DRAWS} transforms of one fit with sample_posterior")
    code = Code.of(holes.train, holes.schema, spare=True)
    train, test = code.encode(holes.train), code.encode(holes.test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with filled.timed("fit and guess"):
            imputer = IterativeImputer(random_state=holes.seed, keep_empty_features=True).fit(train)
            filled.guess = fill(holes.test, code.decode(imputer.transform(test)))
        with filled.timed("draws"):
            imputer = IterativeImputer(random_state=holes.seed, keep_empty_features=True, sample_posterior=True)
            imputer.fit(train)
            filled.draws = fill(holes.test, np.stack([code.decode(imputer.transform(test)) for _ in range(N_DRAWS)]))
    return filled


def constants(values: Array, schema: Schema) -> Array:
    """The mean of every number, the most frequent class, ``[D]``."""
    return np.array([_constant(cells, column) for cells, column in zip(values.T, schema, strict=True)])


def _constant(cells: Array, column: Column) -> float:
    known = cells[~np.isnan(cells)]
    if not len(known):
        return 0.0
    return float(np.bincount(known.astype(int)).argmax() if column.kind.nominal else known.mean())


def fill(values: Array, guesses: Array) -> Array:
    """The table, or several of them, with guesses in its holes and nowhere else."""
    filled = np.where(np.isnan(values), guesses, values)
    assert not np.isnan(filled).any()
    return filled


@dataclass(frozen=True)
class Code:
    """A table as standardised numbers and one dummy per class, or one less, with NaN at the holes."""

    columns: tuple[Column, ...]
    means: Array
    scales: Array
    spare: bool  # whether the last class goes without a dummy

    @classmethod
    def of(cls, values: Array, schema: Schema, *, spare: bool) -> Code:
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
