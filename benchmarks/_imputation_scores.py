"""How good filled cells are: errors of guesses, coverage and energy score of draws, on cells that were removed."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import torch
from _filled import Filled
from _holes import Holes
from _imputers import constants
from numpy.typing import NDArray

from evenhand.tables import Schema
from evenhand.tables.inference import column_errors, macro_class_errors, summary

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def scores(holes: Holes, filled: Filled) -> dict[str, Any]:
    """All that the tables show, and the errors of every column."""
    assert filled.guess is not None
    _check_kept(holes, filled.guess)
    truth, removed = holes.truth[holes.tested], holes.removed[holes.tested]
    found = _guesses(holes, truth, removed, filled.guess)
    found["seconds"] = {name: round(value, 2) for name, value in filled.seconds.items()}
    found["note"] = filled.note
    if filled.draws is not None:
        _check_kept(holes, filled.draws)
        scales = np.nanstd(holes.truth, 0)
        found |= draw_scores(truth, removed, filled.draws, holes.schema, scales, holes.seed)
    return found


def _check_kept(holes: Holes, tables: Array) -> None:
    seen = ~np.isnan(holes.test)
    assert (tables[..., seen] == holes.test[seen]).all(), "observed cells should stay as they are"


def _guesses(holes: Holes, truth: Array, removed: Mask, guess: Array) -> dict[str, Any]:
    schema = holes.schema
    ranges = torch.tensor(np.nanmax(holes.truth, 0) - np.nanmin(holes.truth, 0))
    trivial = np.broadcast_to(constants(holes.train, schema), truth.shape)
    tables = torch.tensor(np.stack([guess, trivial, _whole(holes, guess), _whole(holes, trivial)]))
    cells, scored = torch.tensor(truth), torch.tensor(removed)
    errors, constant, whole, whole_constant = column_errors(cells, tables, scored, schema, ranges=ranges)
    macro = macro_class_errors(cells, tables[0], scored, schema)
    worse = _worse(schema, errors, constant)
    return {
        **{name: _round(value) for name, value in summary(errors, schema).items()},
        "error, whole": _round(summary(whole, schema)["error"]),
        "macro": _round(macro.nanmean()),
        "worse": worse,
        "worse, whole": _worse(schema, whole, whole_constant),
        "worse, surely": [n for n in worse if n in _surely_worse(schema, truth, removed, guess, trivial)],
        "columns": [
            {"name": c.name, "kind": c.kind.value, "cells": int(n), "error": _round(e), "mean or mode": _round(t)}
            for c, n, e, t in zip(schema, removed.sum(0), errors, constant, strict=True)
        ],
    }


def _whole(holes: Holes, guess: Array) -> Array:
    """Guesses with whole numbers where the column has whole numbers alone, as `TabularVAE` has them by default."""
    whole = [bool((cells[~np.isnan(cells)] % 1 == 0).all()) for cells in holes.train.T]
    return np.where(whole, np.rint(guess), guess)


def _worse(schema: Schema, errors: torch.Tensor, constant: torch.Tensor) -> list[str]:
    return [column.name for column, e, c in zip(schema, errors, constant, strict=True) if e > 1.02 * c]


def _surely_worse(schema: Schema, truth: Array, removed: Mask, guess: Array, trivial: Array) -> list[str]:
    """Columns worse than the mean or mode by more than two standard errors of the difference."""
    names = []
    for d, column in enumerate(schema):
        x, ours, theirs = (table[removed[:, d], d] for table in (truth, guess, trivial))
        more = (ours != x) * 1.0 - (theirs != x) if column.kind.nominal else (ours - x) ** 2 - (theirs - x) ** 2
        if len(more) > 1 and more.mean() > 2 * more.std(ddof=1) / np.sqrt(len(more)):
            names.append(column.name)
    return names


def draw_scores(
    truth: Array, removed: Mask, draws: Array, schema: Schema, scales: Array, seed: int = 0
) -> dict[str, Any]:
    r"""Coverage of numbers, and the energy score of what is missing in a row.

    The interval is the range of the 20 draws. If draws and truth come from one distribution, it holds the truth with
    probability 19/21 = 0.905. `coverage` counts a truth on its edge as held, as a user would; where many cells are
    equal, as zeros are, it exceeds 0.905. `coverage, ties split` gives the truth a random place among equal draws,
    which leaves 0.905 exact for every column.

    Energy score: :math:`\frac1M \sum_m \|x_m - x\| - \frac{1}{2M(M-1)} \sum_{m \ne n} \|x_m - x_n\|` over the removed
    cells of a row, numbers over their deviation and 1 for another class, mean over rows; smaller is better.
    """
    rng = np.random.default_rng(seed)
    nominal = np.array([column.kind.nominal for column in schema])
    below, ties = (draws < truth).sum(0), (draws == truth).sum(0)
    rank = below + rng.integers(0, ties + 1)
    inside = (rank > 0) & (rank < len(draws))
    closed = (draws.min(0) <= truth) & (truth <= draws.max(0))
    numbers = [d for d in np.flatnonzero(~nominal) if removed[:, d].any()]
    split = [inside[removed[:, d], d].mean() for d in numbers]
    edges = [closed[removed[:, d], d].mean() for d in numbers]
    return {
        "coverage": _round(np.mean(edges)),
        "coverage, ties split": _round(np.mean(split)),
        "coverage by column": {schema.names[d]: _round(value) for d, value in zip(numbers, split, strict=True)},
        "energy": _round(_energy(truth, removed, draws, nominal, scales)),
    }


def _energy(truth: Array, removed: Mask, draws: Array, nominal: Mask, scales: Array) -> float:
    rows = removed.any(1)
    truth, removed, draws = truth[rows], removed[rows], draws[:, rows]
    scales = np.where(scales == 0, 1.0, scales)

    def distance(a: Array, b: Array) -> Array:
        differences = np.where(nominal, a != b, (a - b) / scales)
        return np.sqrt(np.where(removed, differences**2, 0.0).sum(-1))

    to_truth = np.mean([distance(draw, truth) for draw in draws], 0)
    among = np.mean([distance(a, b) for a, b in combinations(draws, 2)], 0)
    return float(np.mean(to_truth - among / 2))


def _round(value: Any) -> float:
    return round(float(value), 4)
