"""Peers that fill holes with gradient-boosted trees: ``impute(holes) -> Filled``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from _filled import N_DRAWS, Filled
from _holes import Holes
from _imputers import constants, fill
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from evenhand.tables import Column

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def boosted_trees(holes: Holes) -> Filled:
    """Gradient-boosted trees per column from all others as they are, with holes; stopped early on a tenth."""
    filled, columns = Filled(), list(holes.schema)
    with filled.timed("fit and guess"):
        both = np.concatenate([holes.train, holes.test])
        known = np.arange(len(both)) < len(holes.train)
        guesses = [predict_column(both, d, known, columns, holes.seed, early=True) for d in range(len(columns))]
        filled.guess = fill(holes.test, np.stack(guesses, -1)[len(holes.train) :])
    return filled


def missforest(holes: Holes, *, rounds: int = 4) -> Filled:
    """Gradient-boosted trees per column, on the fill so far, in the manner of missForest.

    Trees see the rows to learn from; the rows to fill go through the same trees. Columns with fewest holes come
    first. As in missForest, the rounds end when the fill begins to change more than in the round before, and the
    fill of that round before is returned.

    Stekhoven and Bühlmann, "MissForest", Bioinformatics 28, 2012.
    """
    filled, columns = Filled(), list(holes.schema)
    with filled.timed("fit and guess"):
        values = np.concatenate([holes.train, holes.test])
        known = np.arange(len(values)) < len(holes.train)
        gaps = np.isnan(values)
        order = np.argsort(gaps.sum(0), kind="stable")
        table, change = fill(values, constants(holes.train, holes.schema)), np.inf
        for _ in range(rounds):
            new = table.copy()
            for d in order:
                new[gaps[:, d], d] = predict_column(new, d, known & ~gaps[:, d], columns, holes.seed)[gaps[:, d]]
            previous, change = change, _change(new, table, gaps, columns)
            if change > previous:
                break
            table = new
        filled.guess = fill(holes.test, table[len(holes.train) :])
    return filled


def miceforest(holes: Holes) -> Filled:
    """miceforest, fitted to all rows: guesses without mean matching, draws with it (its default).

    Guesses: the fifth iteration. Draws: iterations 5 to 14 of two chains. Its way to rows that it was not fitted to,
    `impute_new_data`, returns the random values that it starts from in version 6.0.5, so rows to fill are among those
    to fit.
    """
    filled = Filled(note="fitted to all rows, those to fill among them; draws are iterations 5 to 14 of two chains")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with filled.timed("fit and guess"):
            kernel = _kernel(holes, iterations=5, n_chains=1, mean_match_candidates=0)
            filled.guess = fill(holes.test, _completed(kernel, holes, 0, 5))
        try:
            with filled.timed("draws"):
                filled.draws = _mice_draws(holes)
        except ValueError as error:  # of mean matching, where a class is certain
            filled.note += f"; its draws failed: {error}"
    return filled


def _mice_draws(holes: Holes) -> Array:
    last = 4 + N_DRAWS // 2
    kernel = _kernel(holes, iterations=last, n_chains=2)
    draws = [_completed(kernel, holes, chain, k) for chain in (0, 1) for k in range(5, last + 1)]
    return fill(holes.test, np.stack(draws))


def _kernel(holes: Holes, *, iterations: int, n_chains: int, **options: int) -> Any:
    import miceforest as mf

    frame = _frame(np.concatenate([holes.train, holes.test]), holes)
    kernel = mf.ImputationKernel(frame, num_datasets=n_chains, random_state=holes.seed, **options)
    kernel.mice(iterations, num_threads=1, verbosity=-1)
    return kernel


def _completed(kernel: Any, holes: Holes, chain: int, iteration: int) -> Array:
    table = kernel.complete_data(chain, iteration=iteration)
    codes = [table[f"c{d}"].to_numpy(dtype=np.float64) for d in range(len(holes.schema))]
    return np.stack(codes, -1)[len(holes.train) :]


def _frame(values: Array, holes: Holes) -> pd.DataFrame:
    columns = {}
    for d, column in enumerate(holes.schema):
        cells = values[:, d]
        if column.kind.nominal:
            columns[f"c{d}"] = pd.Categorical(cells, categories=np.unique(cells[~np.isnan(cells)]))
        else:
            columns[f"c{d}"] = cells
    return pd.DataFrame(columns)


def predict_column(
    table: Array, d: int, known: Mask, columns: list[Column], seed: int, *, early: bool = False
) -> Array:
    """Guesses for all cells of a column, from all other columns, learnt where the column is known."""
    others = [c for c in range(len(columns)) if c != d]
    known = known & ~np.isnan(table[:, d])
    inputs, target = table[:, others], table[known, d]
    if (target == target[0]).all():
        return np.full(len(table), target[0])
    nominal = columns[d].kind.nominal
    if nominal:  # a class of one row cannot be on both sides of the split
        early = early and np.unique(target, return_counts=True)[1].min() > 1 and len(target) > 10 * columns[d].size
    model_class = HistGradientBoostingClassifier if nominal else HistGradientBoostingRegressor
    model = model_class(
        max_iter=200 if early else 50,
        categorical_features=[columns[c].kind.nominal and columns[c].size <= 255 for c in others],
        early_stopping=early,
        random_state=seed,
    )
    return model.fit(inputs[known], target).predict(inputs)


def _change(new: Array, old: Array, gaps: Mask, columns: list[Column]) -> float:
    """How much a fill changed: the share of classes that did, the mean square of numbers over their variance."""
    changes = []
    for d, column in enumerate(columns):
        a, b = new[gaps[:, d], d], old[gaps[:, d], d]
        if len(a):
            changes.append((a != b).mean() if column.kind.nominal else np.mean((a - b) ** 2) / (new[:, d].var() or 1))
    return float(np.mean(changes)) if changes else 0.0
