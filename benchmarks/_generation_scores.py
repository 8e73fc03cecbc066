"""How good new rows are: likeness, whether trees can tell them, what can be learnt from them, whom they give away."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from _imputers import Code, constants
from _rows import Generated, Rows
from _tree_imputers import predict_column
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors

from evenhand.tables import Schema, quality
from evenhand.tables.inference import column_errors

Array = NDArray[np.float64]
STUDENTS = 5000  # rows that a column is learnt from, and rows that it is judged by
SUSPECTS = 2000  # members, and others, that membership is asked of


def scores(rows: Rows, made: Generated) -> dict[str, Any]:
    """All that the tables show, for each of the ways that rows were drawn."""
    seconds = {name: round(value, 1) for name, value in made.seconds.items()}
    ways = {way: _of_table(rows, table) for way, table in made.tables.items()}
    return {"ways": ways, "seconds": seconds, "note": made.note, "judge": judge_name()}


def _of_table(rows: Rows, table: Array) -> dict[str, Any]:
    if not np.isfinite(table).all():
        raise ValueError(f"{(~np.isfinite(table)).sum()} cells of the new rows are missing or infinite")
    few = table[: len(rows.test)]
    found, strong = quality(rows.test, few, rows.schema), quality(rows.test, few, rows.schema, strong_pairs=True)
    return {
        "quality": _round(found.score),
        "shapes": _round(found.shape),
        "pairs": _round(found.pair),
        "strong": _round(strong.score),
        "lost": len(found.lost),
        "detection": _round(detection(rows.test, few, rows.schema, rows.seed)),
        "detection, training rows": _round(detection(rows.train, table, rows.schema, rows.seed)),
        **_utility(rows, table),
        "membership": _round(membership(rows, table)),
    }


def detection(real: Array, synthetic: Array, schema: Schema, seed: int = 0) -> float:
    """Whether boosted trees can tell new rows from real ones, as SDMetrics counts: 1 if they cannot, 0 if always.

    1 - (2 max(AUC, 1/2) - 1), the mean over three folds. Its detectors are a logistic regression and a support
    vector machine; trees are harder to fool.
    """
    table = np.concatenate([real, synthetic])
    label = np.arange(len(table)) >= len(real)
    folds = StratifiedKFold(3, shuffle=True, random_state=seed).split(table, label)
    areas = [_area(table, label, train, test, schema, seed) for train, test in folds]
    return float(np.mean([1 - (2 * max(area, 0.5) - 1) for area in areas]))


def _area(table: Array, label: Array, train: Array, test: Array, schema: Schema, seed: int) -> float:
    model = _judge(schema, seed).fit(table[train], label[train])
    return float(roc_auc_score(label[test], model.predict_proba(table[test])[:, 1]))


def _judge(schema: Schema, seed: int) -> Any:
    """XGBoost with its defaults where it is installed; else scikit-learn's trees. Both see codes as categories."""
    nominal = [column.kind.nominal for column in schema]
    try:
        from xgboost import XGBClassifier
    except ImportError:
        few = [no and column.size <= 255 for no, column in zip(nominal, schema, strict=True)]
        return HistGradientBoostingClassifier(categorical_features=few, random_state=seed)
    kinds = ["c" if no else "q" for no in nominal]
    return XGBClassifier(feature_types=kinds, enable_categorical=True, n_jobs=1, random_state=seed)


def judge_name() -> str:
    try:
        import xgboost
    except ImportError:
        return "HistGradientBoostingClassifier"
    return f"XGBoost {xgboost.__version__}"


def _utility(rows: Rows, table: Array) -> dict[str, float]:
    """Every column learnt from the others, on new rows and on real ones, and judged on real rows that neither saw.

    `utility` is the part of what real rows teach, beyond the mean or mode, that new rows teach too: 1 is all of it.
    """
    test = rows.test[:STUDENTS]
    taught = {name: _errors(made[:STUDENTS], test, rows) for name, made in (("new", table), ("real", rows.train))}
    trivial = _column_errors(test, np.broadcast_to(constants(rows.train, rows.schema), test.shape), rows)
    share = (trivial - taught["new"]) / (trivial - taught["real"])
    return {
        "error, learnt from new rows": _round(taught["new"]),
        "error, learnt from real rows": _round(taught["real"]),
        "utility": _round(share),
    }


def _errors(students: Array, test: Array, rows: Rows) -> float:
    both, columns = np.concatenate([students, test]), list(rows.schema)
    known = np.arange(len(both)) < len(students)
    guesses = [predict_column(both, d, known, columns, rows.seed, early=True) for d in range(len(columns))]
    return _column_errors(test, np.stack(guesses, -1)[len(students) :], rows)


def _column_errors(truth: Array, guess: Array, rows: Rows) -> float:
    ranges = torch.tensor(np.ptp(rows.train, axis=0))
    tensors = torch.tensor(truth), torch.tensor(guess), torch.ones(truth.shape, dtype=torch.bool)
    return float(column_errors(*tensors, rows.schema, ranges=ranges).mean())


def membership(rows: Rows, table: Array) -> float:
    """Whether the distance to the closest new row tells a training row from another: the AUC, 0.5 if it does not."""
    code = Code.of(rows.train, rows.schema, spare=False)
    suspects = np.concatenate([rows.train[:SUSPECTS], rows.test[:SUSPECTS]])
    member = np.arange(len(suspects)) < min(SUSPECTS, len(rows.train))
    near = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(code.encode(table))
    distances, _ = near.kneighbors(code.encode(suspects))
    return float(roc_auc_score(member, -distances[:, 0]))


def _round(value: float) -> float:
    return round(float(value), 4)
