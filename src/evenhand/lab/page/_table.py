"""What the page of a table experiment says, in words and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from markupsafe import Markup
from numpy.typing import ArrayLike

from ..results import Run, TableReport, fair
from ._answer import IMPARTIAL_FIRST, PLAIN_FIRST, heading, lead, tiles
from ._choice import choice_part, rate_part
from ._columns import KIND, MOST_LINES, NAME, columns_part, kinds_part
from ._conflicts import conflicts, dominance
from ._generated import generated_part
from ._html_table import Column, html_table
from ._parts import count, listed, name, percent, settings_of
from ._verdict import take_part


def table_context(report: Mapping[str, Any], samples: Mapping[str, ArrayLike] | None) -> dict[str, Any]:
    """Everything that the template of a table report asks for."""
    read = TableReport(report)
    chosen = read.best()
    columns = columns_part(read, chosen)
    order = [row.name for row in columns["pairs"]]
    return {
        "title": f"{read.name}: plain and impartial training",
        "heading": heading(read),
        "lead": lead(read, chosen),
        "tiles": tiles(read, chosen),
        "take": take_part(read),
        "impartial": chosen is not None,
        "columns": columns,
        "kinds": kinds_part(read, chosen),
        "neglect": [*_neglect(read, chosen), *dominance(read)],
        "conflicts": conflicts(read),
        "rate": rate_part(read, chosen),
        "pairs": generated_part(report, samples, order),
        "choice": choice_part(read, chosen),
        "data": _data(read),
        "settings": settings_of(report, [("Seeds", ", ".join(map(str, read.seeds)))]),
    }


def _neglect(read: TableReport, chosen: Run | None) -> list[Markup]:
    rule = (
        "A column is neglected if its error (median over seeds) is above 98 % of what guessing its mean or mode "
        "gives (first seed). "
    )
    seen = [
        Markup("{} training neglects {}.").format(*one) for one in _neglected(read, chosen, "columns", "no column")
    ]
    found = [Markup(rule) + Markup(" ").join(seen)]
    if not read.report.get("trivial", {}).get("hidden_columns"):
        return found
    none = "every column better than that"
    hidden = [
        Markup("{} training guesses {}.").format(label, f"{what}" if what == none else what + Markup(" no better"))
        for label, what in _neglected(read, chosen, "hidden_columns", none)
    ]
    unfair = "" if fair(read) else "(They were not hidden in training: these models have never learnt to guess.) "
    why = " Where no training does better than the guess, the other columns may simply not tell."
    return [*found, Markup("The same on hidden cells: {}").format(unfair) + Markup(" ").join(hidden) + Markup(why)]


def _neglected(
    read: TableReport, chosen: Run | None, measure: Literal["columns", "hidden_columns"], none: str
) -> list[tuple[Markup, str | Markup]]:
    """For plain and impartial training, the columns that are neglected."""
    found: list[tuple[Markup, str | Markup]] = []
    for run, label in ((read.plain, PLAIN_FIRST), (chosen, IMPARTIAL_FIRST)):
        if run is None:
            continue
        names = read.neglected(run, measure)
        of = Markup("{} of {}: {}").format(len(names), count(len(read.columns), "column"), listed(names))
        found.append((label, of if names else none))
    return found


def _data(read: TableReport) -> dict[str, Any]:
    data, missing = read.data, read.data.get("missing")
    chosen_by = data["rows"] - data["train_rows"] - data["test_rows"]
    said = Markup("{} has {} and {}; {} rows were trained on, {} validated on and {} tested on. {}").format(
        name(data["name"]), count(data["rows"], "row"), count(len(read.columns), "column"),
        f"{data['train_rows']:,}", f"{chosen_by:,}", f"{data['test_rows']:,}",
        f"{percent(missing, 1)} of the cells are missing." if missing else "No cell is missing.",
    )  # fmt: skip
    reasons = data.get("reasons") or [""] * len(read.columns)
    rows = [list(row) for row in zip(read.columns, read.kinds, reasons, strict=True)]
    heads = [NAME, KIND, Column("Why this kind", words=True)]
    ignored = [[column, str(reason)] for column, reason in data.get("ignored", {}).items()]
    conversions = data.get("conversions", [])
    left_out = html_table(
        "ignored columns",
        f"Columns that were left out{_some(ignored)}.",
        [NAME, Column("Why", words=True)],
        ignored[:MOST_LINES],
    )
    learnt = html_table("columns and kinds", f"Columns that were learnt{_some(rows)}.", heads, rows[:MOST_LINES])
    return {
        "words": [said, *([data["note"]] if data.get("note") else [])],
        "table": learnt,
        "ignored": replace(left_out, sortable=False) if ignored else None,
        "conversions": [*conversions[:MOST_LINES], *(["and more."] if len(conversions) > MOST_LINES else [])],
    }


def _some(rows: Sequence[Any]) -> str:
    """What to say where not all rows are shown."""
    return f", the first {MOST_LINES} of {len(rows):,}" if len(rows) > MOST_LINES else ""
