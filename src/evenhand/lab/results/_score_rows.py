"""Rows of the paper's tables of multimodal models, from scores over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ...modalities.inference import Subset
from ..judges import MultimodalScores
from ._statistics import better
from ._table import UNKNOWN, Cell, Table

Result = tuple[str, str, Sequence[MultimodalScores]]
"""The label of a model, that of a method, and the scores of every seed."""

BASELINE = "vanilla"
DIGITS = 2  # of percentages and nats, behind the decimal point


Row = dict[str, "str | Cell"]
"""A line of a table: "model", "method", and a cell by the name of its column."""

Column = tuple[str, Callable[[MultimodalScores], float]]
"""The name of a column, and what it reads from scores."""


def reconstruction_rows(results: Iterable[Result], *, baseline: str = BASELINE) -> list[Row]:
    """Coherence in % given all modalities (tables 3 and 9): a column for every modality.

    Args:
        results: Models and methods with their scores.
        baseline: The method that others are compared with.
    """
    results = list(results)
    names = _names(results)
    letters = _letters(names)
    return _rows(results, [(letters[d], partial(_coherence, key=(names, d))) for d in names], baseline)


def coherence_rows(results: Iterable[Result], *, baseline: str = BASELINE) -> list[Row]:
    """Self and cross coherence in % (tables 4 and 10 to 12), and the hours of training if they are known.

    Args:
        results: Models and methods with their scores.
        baseline: The method that others are compared with.
    """
    results = list(results)
    letters, subsets = _letters(_names(results)), _subsets(results)
    pairs: list[tuple[Subset, str]] = [(subset, d) for d in letters for subset in subsets if subset == (d,)]
    pairs += [(subset, d) for d in letters for subset in subsets if d not in subset]
    columns = [(f"{letters[d]}|{_short(subset, letters)}", (subset, d)) for subset, d in pairs]
    rows = _rows(results, [(title, partial(_coherence, key=key)) for title, key in columns], baseline)
    if any(scores.hours is not None for _, _, seeds in results for scores in seeds):
        for row, (_, _, seeds) in zip(rows, results, strict=True):
            row["hours"] = _cell([math.nan if scores.hours is None else scores.hours for scores in seeds])
    return rows


def latent_rows(results: Iterable[Result], *, baseline: str = BASELINE) -> list[Row]:
    """Self and cross latent classification in % (table 5); `side_by_side` puts those of several objectives together.

    Args:
        results: Models and methods with their scores.
        baseline: The method that others are compared with.
    """
    columns: list[Column] = [("self", lambda s: 100 * s.latent_self), ("cross", lambda s: 100 * s.latent_cross)]
    return _rows(list(results), columns, baseline)


def log_likelihood_rows(results: Iterable[Result], *, baseline: str = BASELINE) -> list[Row]:
    """Log-likelihoods per dimension, summed over modalities, by what is given (tables 13 to 15).

    Args:
        results: Models and methods with their scores.
        baseline: The method that others are compared with.
    """
    results = list(results)
    letters = _letters(_names(results))
    columns = [(f"X|{_short(subset, letters)}", partial(_density, key=subset)) for subset in _subsets(results)]
    return _rows(results, columns, baseline)


def rate_rows(results: Iterable[Result]) -> list[Row]:
    """Rates in nats by what is given: to be read beside every other table, because a collapsed model has none."""
    results = list(results)
    letters = _letters(_names(results))
    columns = [(_short(subset, letters), partial(_rate, key=subset)) for subset in _subsets(results)]
    return _rows(results, columns, None)


def side_by_side(tables: Mapping[str, Sequence[Row]]) -> list[Row]:
    """One table of several, such as those of ELBO, IWAE and SIWAE: rows of the same model and method in one line.

    Args:
        tables: By what stands before the names of their columns.
    """
    joined: dict[tuple[object, object], Row] = {}
    for title, rows in tables.items():
        for row in rows:
            line = joined.setdefault((row["model"], row["method"]), {"model": row["model"], "method": row["method"]})
            line.update({f"{title} {name}": cell for name, cell in row.items() if isinstance(cell, Cell)})
    columns = list(dict.fromkeys(name for row in joined.values() for name in row))
    return [{name: row.get(name, UNKNOWN) for name in columns} for row in joined.values()]


def as_table(title: str, rows: Sequence[Row], *, notes: Sequence[str] = (), std: bool = False) -> Table:
    """A table of such rows; a model is named where it changes.

    Args:
        title: What it shows.
        rows: From the functions above.
        notes: Sentences below it.
        std: Whether to write standard deviations.
    """
    columns = columns_of(rows)
    starts = [i for i, row in enumerate(rows) if not i or rows[i - 1]["model"] != row["model"]]
    body = []
    for i, row in enumerate(rows):
        cells = [_without_std(row.get(name, UNKNOWN), std) for name in columns]
        body.append([str(row["model"]) if i in starts else "", str(row["method"]), *cells])
    return Table(title, [["", "", *columns]], body, notes, n_labels=2, breaks=starts)


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The columns of numbers of rows, in the order in which they are named first."""
    return list(dict.fromkeys(name for row in rows for name in row if name not in ("model", "method")))


# Inside


def _coherence(scores: MultimodalScores, key: tuple[Subset, str]) -> float:
    return 100 * scores.coherence.get(key, math.nan)


def _density(scores: MultimodalScores, key: Subset) -> float:
    return scores.log_likelihood_sums.get(key, math.nan)


def _rate(scores: MultimodalScores, key: Subset) -> float:
    return scores.rates.get(key, math.nan)


def _rows(results: Sequence[Result], columns: Sequence[Column], baseline: str | None) -> list[Row]:
    rows: list[Row] = [{"model": model, "method": method} for model, method, _ in results]
    for name, read in columns:
        values = [[read(scores) for scores in seeds] for _, _, seeds in results]
        for i, row in enumerate(rows):
            bold = baseline is not None and _wins(i, values, results, baseline)
            row[name] = replace(_cell(values[i]), bold=bold)
    return rows


def _wins(i: int, values: Sequence[Sequence[float]], results: Sequence[Result], baseline: str) -> bool:
    """Whether a method beats the baseline of its model; the baseline has to beat all others."""
    model, method, _ = results[i]
    same = [(j, other) for j, (name, other, _) in enumerate(results) if name == model]
    rivals = [j for j, other in same if (other == baseline) != (method == baseline)]
    return bool(rivals) and all(better(values[i], values[j]) for j in rivals)


def _cell(values: Sequence[float]) -> Cell:
    known = [x for x in values if not math.isnan(x)]
    if not known:
        return UNKNOWN
    return Cell(statistics.fmean(known), DIGITS, std=statistics.stdev(known) if len(known) > 1 else math.nan)


def _names(results: Sequence[Result]) -> tuple[str, ...]:
    found = dict.fromkeys(scores.names for _, _, seeds in results for scores in seeds)
    if len(found) != 1:
        raise ValueError(f"results should be of models with the same modalities. Found {list(found)}.")
    return next(iter(found))


def _subsets(results: Sequence[Result]) -> list[Subset]:
    return list(dict.fromkeys(subset for _, _, seeds in results for scores in seeds for subset in scores.subsets))


def _letters(names: Sequence[str]) -> dict[str, str]:
    """M, S, T for mnist, svhn, text; whole names where first letters are not enough."""
    first = [name[:1].upper() for name in names]
    return dict(zip(names, first if len(set(first)) == len(names) else names, strict=True))


def _short(subset: Subset, letters: Mapping[str, str]) -> str:
    parts = [letters[name] for name in subset]
    return ("" if all(len(part) == 1 for part in parts) else ",").join(parts)


def _without_std(cell: str | Cell, std: bool) -> str | Cell:
    return cell if std or isinstance(cell, str) else replace(cell, std=math.nan)
