"""The paper's tables of multimodal models, from scores over seeds."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from scipy import stats

from ..modalities.inference import Subset
from ._multimodal_scores import MultimodalScores

Result = tuple[str, str, Sequence[MultimodalScores]]
"""The label of a model, that of a method, and the scores of every seed."""

BASELINE = "vanilla"
ALPHA = 0.1  # as in the paper


@dataclass(frozen=True)
class Cell:
    """A number over seeds.

    Attributes:
        mean: The mean over the seeds where it is known; NaN if it never is.
        std: The standard deviation, NaN with fewer than two seeds.
        bold: Whether a one-sided Student's t-test says that it is better than its rival.
    """

    mean: float
    std: float = math.nan
    bold: bool = False


Row = dict[str, "str | Cell"]
"""A line of a table: "model", "method", and a cell by the name of its column."""

Column = tuple[str, Callable[[MultimodalScores], float]]
"""The name of a column, and what it reads from scores."""


def reconstruction_table(results: Iterable[Result], *, baseline: str = BASELINE) -> list[Row]:
    """Coherence in % given all modalities (tables 3 and 9): a column for every modality.

    Args:
        results: Models and methods with their scores.
        baseline: The method that others are compared with.
    """
    results = list(results)
    names = _names(results)
    letters = _letters(names)
    return _rows(results, [(letters[d], partial(_coherence, key=(names, d))) for d in names], baseline)


def coherence_table(results: Iterable[Result], *, baseline: str = BASELINE) -> list[Row]:
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


def latent_table(results: Iterable[Result], *, baseline: str = BASELINE) -> list[Row]:
    """Self and cross latent classification in % (table 5); `side_by_side` puts those of several objectives together.

    Args:
        results: Models and methods with their scores.
        baseline: The method that others are compared with.
    """
    columns: list[Column] = [("self", lambda s: 100 * s.latent_self), ("cross", lambda s: 100 * s.latent_cross)]
    return _rows(list(results), columns, baseline)


def log_likelihood_table(results: Iterable[Result], *, baseline: str = BASELINE) -> list[Row]:
    """Log-likelihoods per dimension, summed over modalities, by what is given (tables 13 to 15).

    Args:
        results: Models and methods with their scores.
        baseline: The method that others are compared with.
    """
    results = list(results)
    letters = _letters(_names(results))
    columns = [(f"X|{_short(subset, letters)}", partial(_density, key=subset)) for subset in _subsets(results)]
    return _rows(results, columns, baseline)


def rate_table(results: Iterable[Result]) -> list[Row]:
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
    return [{name: row.get(name, Cell(math.nan)) for name in columns} for row in joined.values()]


def to_text(rows: Sequence[Row], *, std: bool = False, digits: int = 2) -> str:
    """The table in columns of equal width; what is better by the test has a star.

    Args:
        rows: From the functions above.
        std: Whether to write standard deviations.
        digits: Behind the decimal point.
    """
    lines = [[_plain(cell, std, digits) for cell in line] for line in _lines(rows)]
    if any(text.endswith("*") for line in lines for text in line):  # keep the digits below each other
        lines = [[text if i < 2 or text.endswith("*") else text + " " for i, text in enumerate(row)] for row in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_padded(line, widths) for line in lines)


def to_markdown(rows: Sequence[Row], *, std: bool = False, digits: int = 2) -> str:
    """The table in Markdown; what is better by the test is bold.

    Args:
        rows: From the functions above.
        std: Whether to write standard deviations.
        digits: Behind the decimal point.
    """
    header, *body = [[_markdown(cell, std, digits) for cell in line] for line in _lines(rows)]
    rule = ["---", "---", *["---:"] * (len(header) - 2)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *body])


def better(values: Sequence[float], rivals: Sequence[float], *, alpha: float = ALPHA) -> bool:
    """Whether a one-sided Student's t-test with equal variances says that values are larger than their rivals.

    It never does for fewer than two numbers on a side.
    """
    ours, theirs = ([x for x in side if not math.isnan(x)] for side in (values, rivals))
    if len(ours) < 2 or len(theirs) < 2:
        return False
    if statistics.pvariance(ours) == statistics.pvariance(theirs) == 0:
        return ours[0] > theirs[0]  # nothing is left to chance
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # digits get lost where numbers are almost equal
        return bool(stats.ttest_ind(ours, theirs, equal_var=True, alternative="greater").pvalue < alpha)


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
        return Cell(math.nan)
    return Cell(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else math.nan)


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


def _lines(rows: Sequence[Row]) -> list[list[str | Cell]]:
    """The names of the columns, and the rows, with a model named only where it changes."""
    if not rows:
        raise ValueError("rows should have at least one line. Found none.")
    lines: list[list[str | Cell]] = [["", "", *list(rows[0])[2:]]]
    for i, row in enumerate(rows):
        same = i > 0 and rows[i - 1]["model"] == row["model"]
        lines.append(["" if same else row["model"], *list(row.values())[1:]])
    return lines


def _padded(line: Sequence[str], widths: Sequence[int]) -> str:
    """Labels to the left, numbers to the right."""
    pairs = enumerate(zip(line, widths, strict=True))
    return "  ".join(text.ljust(width) if i < 2 else text.rjust(width) for i, (text, width) in pairs).rstrip()


def _plain(cell: str | Cell, std: bool, digits: int) -> str:
    return cell if isinstance(cell, str) else _value(cell, std, digits) + ("*" if cell.bold else "")


def _markdown(cell: str | Cell, std: bool, digits: int) -> str:
    if isinstance(cell, str):
        return cell.replace("|", "\\|")
    text = _value(cell, std, digits)
    return f"**{text}**" if cell.bold else text


def _value(cell: Cell, std: bool, digits: int) -> str:
    if math.isnan(cell.mean):
        return "-"
    spread = f" ± {cell.std:.{digits}f}" if std and not math.isnan(cell.std) else ""
    return f"{cell.mean:.{digits}f}{spread}"
