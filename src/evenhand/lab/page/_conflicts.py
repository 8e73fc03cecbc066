"""What the page says of gradients: who dominates them, and who pulls against whom."""

# ruff: noqa: RUF001  # signs as readers know them: −

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ..figures import Band, heat_map, number, stacked_areas
from ..results import OPPOSED, Cell, TableReport
from ._html_table import Column, HtmlTable, html_table
from ._parts import count, name, percent, unknown_last

MOST_BANDS = 7  # more colours cannot be told apart
MOST_OPPOSED = 10
MOST_SHOWN = 60  # columns in the chart of cosines
TITLES = {"plain": "Plain training", "impartial": "Impartial training"}
BEFORE = "what the heads send, before the method"  # who reads "impartial" expects what is made of it

Array = NDArray[np.float64]


def dominance(read: TableReport) -> list[Markup]:
    """Who has the largest share of the gradient, in words."""
    said: list[Markup] = []
    for label in TITLES:
        shares = _shares(read, label)
        if shares is None or len(read.columns) < 2:
            continue
        mean = shares.mean(0)
        first, half = int(mean.argmax()), int((np.cumsum(np.sort(mean)[::-1]) < 0.5).sum()) + 1
        text = Markup("In {} training {} has the largest share of the gradient, {} on average over training{}{}.")
        even = f", where an even share would be {percent(1 / len(mean))}" if not said else ""
        said.append(text.format(
            Markup('<b class="{0}">{0}</b>').format(label), name(read.columns[first]), percent(float(mean[first])),
            even, f"; {count(half, 'column')} together have half of it" if half > 1 else "",
        ))  # fmt: skip
    if len(said) == 2:
        said.append(Markup("Both are the gradients that the heads send back, before the method settles them."))
    return [Markup(" ").join(said)] if said else []


def conflicts(read: TableReport) -> dict[str, Any] | None:
    """Charts of shares and cosines; None if they were not read, or if there is nobody to be in conflict with."""
    shares = {label: found for label in TITLES if (found := _shares(read, label)) is not None}
    if not shares or len(read.columns) < 2:
        return None
    steps = [float(step) for step in read.report["conflicts"]["steps"]]
    order = np.argsort(-np.mean([found.mean(0) for found in shares.values()], 0)).tolist()
    panels = []
    for label, found in shares.items():
        note = BEFORE if label == "impartial" else ""
        title = f"{TITLES[label]}{f', {note}' if note else ''}"
        words_ = f"{title}: shares of the gradient over {count(len(steps), 'check')}. " + _top(read, found)
        chart = stacked_areas(steps, _bands(read, found, order), words_)
        panels.append({"title": TITLES[label], "note": note, "chart": chart})
    n = len(read.columns)
    return {
        "count": count(n, "column"), "even": percent(1 / n), "panels": panels, "seed": read.seeds[0],
        "bands": f"the {MOST_BANDS} largest of {n} columns by name" if n > MOST_BANDS + 1 else "by column",
        **_directions(read),
    }  # fmt: skip


def _directions(read: TableReport) -> dict[str, Any]:
    cosines = {label: found for label in TITLES if (found := _cosines(read, label)) is not None}
    if not cosines:
        return {"heat": None}
    first = next(iter(cosines))
    second = "impartial" if "impartial" in cosines and first != "impartial" else None
    label = "Cosines between the gradients of columns. The table below has the lowest."
    halves = f"Below the diagonal {first} training, above it {second} training" if second else TITLES[first]
    names, some = _columns(read), _in_conflict(cosines[first])
    few = (
        f" Of {len(read.columns):,} columns, the {len(some)} in the sharpest conflict."
        if len(some) < len(read.columns)
        else ""
    )
    caption = (
        f"{halves}; cosines of what the heads send, read from the checkpoint that validation chose, first seed. "
        f"The shares above were read during training.{few}"
    )
    shown = [cosines[one][np.ix_(some, some)].tolist() if one else None for one in (first, second)]
    heat = heat_map([names[i] for i in some], shown[0] or [], shown[1], label)
    words, table = _direction_words(read, cosines), _opposed(names, cosines)
    return {"heat": heat, "caption": caption, "words": words, "table": table, "wide": len(some) > 24}


def _columns(read: TableReport) -> list[str]:
    """Whose cosines there are: of a wide table, those of the columns in conflict only."""
    kept = read.report["conflicts"].get("columns")
    return list(read.columns) if kept is None else [read.columns[i] for i in kept]


def _in_conflict(cosines: Array) -> list[int]:
    """As many columns as a chart can show: those with the lowest cosines, in their order."""
    if len(cosines) <= MOST_SHOWN:
        return list(range(len(cosines)))
    lowest = np.nan_to_num(cosines, nan=1.0).min(1)
    return sorted(np.argsort(lowest, kind="stable")[:MOST_SHOWN].tolist())


def _direction_words(read: TableReport, cosines: dict[str, Array]) -> Markup:
    parts = []
    for label, found in cosines.items():
        pairs = found[np.triu_indices(len(found), 1)]
        pairs = pairs[np.isfinite(pairs)]
        counted = read.report["conflicts"][label].get("n_opposed")  # of a wide table, where not all cosines are kept
        n = len(pairs) if counted is None else len(read.columns) * (len(read.columns) - 1) // 2
        if len(pairs):
            text = Markup("{} of {} pairs of columns pull against each other in {} training")
            opposed = int((pairs < OPPOSED).sum()) if counted is None else int(counted)
            parts.append(text.format(f"{opposed:,}", f"{n:,}", Markup('<b class="{0}">{0}</b>').format(label)))
    return Markup(", ").join(parts) + Markup(
        f" (cosine below {number(OPPOSED, 2)}). The cosine is 1 where two gradients point the same way, −1 where "
        "they point in opposite ones. Where it is negative, a step for one column is a step against the other."
    )


def _opposed(names: Sequence[str], cosines: dict[str, Array]) -> HtmlTable:
    first = next(iter(cosines.values()))
    rows, columns = np.triu_indices(len(first), 1)
    pairs = sorted(zip(rows.tolist(), columns.tolist(), strict=True), key=lambda p: unknown_last(float(first[p])))[
        :MOST_OPPOSED
    ]
    lines: list[list[str | Cell]] = [
        [names[i], names[j], *(Cell(float(c[i, j]), 2) for c in cosines.values())] for i, j in pairs
    ]
    heads = [Column("Column", words=True), Column("and", words=True)]
    heads += [Column(label.capitalize()) for label in cosines]
    caption = f"The pairs of columns with the lowest cosines in {next(iter(cosines))} training."
    return replace(html_table("the lowest cosines", caption, heads, lines), by=2)


def _bands(read: TableReport, shares: Array, order: Sequence[int]) -> list[Band]:
    """The largest columns by name, the others together; the same colours for both trainings."""
    some = order if len(order) <= MOST_BANDS + 1 else order[:MOST_BANDS]
    bands = [Band(read.columns[i], f"c{k}", shares[:, i].tolist()) for k, i in enumerate(some)]
    rest = [i for i in order if i not in some]
    if rest:
        bands.append(Band(f"{len(rest)} others", "rest", shares[:, rest].sum(1).tolist()))
    return bands


def _top(read: TableReport, shares: Array) -> str:
    last = shares[-1]
    return f"At the end {read.columns[int(last.argmax())]} has the most, {number(100 * float(last.max()), 0)} %."


def _shares(read: TableReport, label: str) -> Array | None:
    """Shares by check and column, NaN as nothing."""
    found = read.report.get("conflicts", {}).get(label, {}).get("shares")
    array = np.array(found, float) if found else np.empty((0, 0))
    return np.nan_to_num(array, posinf=0.0, neginf=0.0) if array.shape[1:] == (len(read.columns),) else None


def _cosines(read: TableReport, label: str) -> Array | None:
    found = read.report.get("conflicts", {}).get(label, {}).get("cosines")
    return np.array(found, float) if found else None
