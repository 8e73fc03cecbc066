"""The part of the page about errors, column by column and kind by kind."""
# signs as readers know them: − – ×

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from ...tables.schema import Kind
from ..figures import dumbbell, number
from ..results import Cell, ColumnErrors, Run, TableReport, column_pairs, medians, tally
from ._answer import PLAIN
from ._html_table import Column, HtmlTable, html_table
from ._parts import count, name

WIDTHS = {"wide": 760, "narrow": 343}  # of charts, in pixels
NAME = Column("Column", words=True)
KIND = Column("Kind", words=True, short=True)
MOST_ROWS = 60  # of a chart
MOST_LINES = 300  # of a table


def columns_part(read: TableReport, chosen: Run | None) -> dict[str, Any]:
    """Errors of all columns, the largest gain first."""
    pairs = column_pairs(read, chosen)
    shown, some = _ends(pairs, MOST_ROWS)
    label = f"Errors of {count(len(shown), 'column')}, plain and impartial. The table below has the numbers."
    charts = {kind: dumbbell(shown, label, width=w) for kind, w in WIDTHS.items()}
    heading = "Column by column" if chosen is not None else "Errors of all columns"
    table = _columns_table(read, chosen, pairs)
    return {"heading": heading, "words": _column_words(pairs), "pairs": pairs, "table": table, "some": some, **charts}


def _ends(pairs: Sequence[ColumnErrors], most: int) -> tuple[list[ColumnErrors], str]:
    """Of many columns, those that gain most and least; and what to say of that."""
    if len(pairs) <= most:
        return list(pairs), ""
    half = most // 2
    said = f" Shown are {most} of {len(pairs):,} columns, the {half} that gain most and the {half} that gain least."
    return [*pairs[:half], *pairs[-half:]], said


def _columns_table(read: TableReport, chosen: Run | None, pairs: Sequence[ColumnErrors]) -> HtmlTable:
    kinds, n = dict(zip(read.columns, read.kinds, strict=True)), len(pairs)
    guessed = [read.report.get("trivial", {}).get("hidden_columns") or [math.nan] * n]
    guessed += [medians(run.get("hidden_columns"), n).tolist() for run in (read.plain, chosen) if run is not None]
    hidden = [dict(zip(read.columns, map(_known, errors), strict=True)) for errors in guessed]
    shown, some = _ends(pairs, MOST_LINES)
    rows = []
    for p in shown:
        cells: list[str | Cell] = [p.name, kinds[p.name], Cell(p.trivial), Cell(p.plain)]
        if chosen is not None:
            relative = 100 * p.gain / p.plain if p.plain else math.nan
            cells += [Cell(p.impartial), Cell(p.gain, signed=True), Cell(relative, 0, signed=True)]
        rows.append([*cells, *(Cell(h[p.name]) for h in hidden)])
    titles = ["Trivial", "Plain", "Impartial", "Gain", "Gain, %"]
    titles += ["Hidden, trivial", "Hidden, plain", "Hidden, impartial"]
    if chosen is None:
        titles = ["Trivial", "Plain", "Hidden, trivial", "Hidden"]
    heads = [NAME, KIND, *(Column(title, down="Gain" in title) for title in titles)]
    caption = (
        "Errors of all columns, median over seeds. Hidden: of cells that the encoder did not see. "
        f"Trivial: guessing the mean or mode, first seed.{some}"
    )
    made = html_table("errors of all columns", caption, heads, rows)
    return replace(made, by=5 if chosen else -1, sorted="descending")


def _known(x: float | None) -> float:
    return math.nan if x is None else float(x)


def _column_words(pairs: Sequence[ColumnErrors]) -> Markup:
    known = [p for p in pairs if math.isfinite(p.gain)]
    if not known:
        return Markup("Only {} training was measured.").format(PLAIN)
    best, worst = known[0], known[-1]
    text = Markup("")
    if best.gain > 0 and number(best.plain) != number(best.impartial):
        text = Markup("{} gains most: its error goes from {} to {}. ").format(
            name(best.name), number(best.plain), number(best.impartial)
        )
    worse = tally(pairs).worse
    if not worse:
        return text + Markup("No column pays for it.")
    loss = Markup("{} {}; {} loses most, from {} to {}.")
    return text + loss.format(
        count(worse, "column"), "gets worse" if worse == 1 else "get worse",
        name(worst.name), number(worst.plain), number(worst.impartial),
    )  # fmt: skip


def kinds_part(read: TableReport, chosen: Run | None) -> dict[str, Any]:
    """Errors of columns of the same kind, taken together."""
    groups = ["nominal" if Kind(kind).nominal else kind for kind in read.kinds]
    pairs = _by_kind(read, chosen, groups)
    rows = []
    for p in pairs:
        cells: list[str | Cell] = [p.name, Cell(float(groups.count(p.name)), 0), Cell(p.trivial), Cell(p.plain)]
        rows.append([*cells, *([Cell(p.impartial), Cell(p.gain, signed=True)] if chosen else [])])
    titles = ["Columns", "Trivial", "Plain", *(["Impartial", "Gain"] if chosen else [])]
    heads = [Column("Kind", words=True), *(Column(title, down=title in ("Columns", "Gain")) for title in titles)]
    caption = "Mean error of the columns of a kind, median over seeds. Trivial: of the first seed."
    table = html_table("errors by kind", caption, heads, rows)
    label = "Errors by kind of column, plain and impartial. The table below has the numbers."
    charts = {kind: dumbbell(pairs, label, width=w) for kind, w in WIDTHS.items()}
    said = "Nominal columns are binary, categorical and ordinal ones." if "nominal" in groups else ""
    return {"words": f"Errors of columns of the same likelihood, taken together. {said}", "table": table, **charts}


def _by_kind(read: TableReport, chosen: Run | None, groups: Sequence[str]) -> list[ColumnErrors]:
    trivial = {p.name: p.trivial for p in column_pairs(read, chosen)}
    plain, impartial = read.by_kind(read.plain), read.by_kind(chosen) if chosen else {}
    pairs = []
    for kind in plain:
        guesses = [trivial[c] for c, g in zip(read.columns, groups, strict=True) if g == kind]
        guess = float(np.mean(guesses)) if np.isfinite(guesses).all() else math.nan
        pairs.append(ColumnErrors(kind, guess, plain[kind], impartial.get(kind, math.nan)))
    return pairs
