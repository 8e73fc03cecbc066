"""What the page says of gradients: who dominates them, and who pulls against whom."""

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
TITLES = {"plain": "Plain training", "impartial": "Impartial training"}
BEFORE = "what the heads send, before f"  # who reads "impartial" expects what f makes of it

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
        said.append(Markup("Both are the gradients that the heads send back, before <i>f</i> settles them."))
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
    below, above = cosines[first], cosines[second] if second else None
    label = "Cosines between the gradients of columns. The table below has the lowest."
    halves = f"Below the diagonal {first} training, above it {second} training" if second else TITLES[first]
    caption = (
        f"{halves}; cosines of what the heads send, read from the checkpoint that validation chose, first seed. "
        "The shares above were read during training."
    )
    heat = heat_map(read.columns, below.tolist(), None if above is None else above.tolist(), label)
    return {"heat": heat, "caption": caption, "words": _direction_words(cosines), "table": _opposed(read, cosines)}


def _direction_words(cosines: dict[str, Array]) -> Markup:
    parts = []
    for label, found in cosines.items():
        pairs = found[np.triu_indices(len(found), 1)]
        pairs = pairs[np.isfinite(pairs)]
        if len(pairs):
            text = Markup("{} of {} pairs of columns pull against each other in {} training")
            parts.append(
                text.format(int((pairs < OPPOSED).sum()), len(pairs), Markup('<b class="{0}">{0}</b>').format(label))
            )
    return Markup(", ").join(parts) + Markup(
        f" (cosine below {number(OPPOSED, 2)}). Where a cosine is negative, a step for one column is a step against "
        "the other."
    )


def _opposed(read: TableReport, cosines: dict[str, Array]) -> HtmlTable:
    first = next(iter(cosines.values()))
    rows, columns = np.triu_indices(len(first), 1)
    pairs = sorted(zip(rows.tolist(), columns.tolist(), strict=True), key=lambda p: unknown_last(float(first[p])))[
        :MOST_OPPOSED
    ]
    lines: list[list[str | Cell]] = [
        [read.columns[i], read.columns[j], *(Cell(float(c[i, j]), 2) for c in cosines.values())] for i, j in pairs
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
