"""What the page of a table experiment says, in words and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup
from numpy.typing import ArrayLike

from ..results import Run, TableReport
from ._answer import IMPARTIAL_FIRST, PLAIN_FIRST, heading, lead, tiles
from ._choice import choice_part, rate_part
from ._columns import KIND, NAME, columns_part, kinds_part
from ._conflicts import conflicts, dominance
from ._generated import generated_part
from ._html_table import Column, html_table
from ._parts import count, listed, name, percent, settings_of


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
    found = []
    for run, label in ((read.plain, PLAIN_FIRST), (chosen, IMPARTIAL_FIRST)):
        if run is None:
            continue
        names = read.neglected(run)
        if names:
            text = "{} training neglects {} of {}: {}."
            said = Markup(text).format(label, len(names), count(len(read.columns), "column"), listed(names))
        else:
            said = Markup("{} training neglects no column.").format(label)
        found.append(said)
    rule = (
        "A column is neglected if its error (median over seeds) is above 98 % of what guessing its mean or mode "
        "gives (first seed). "
    )
    return [Markup(rule) + Markup(" ").join(found)]


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
    left_out = html_table(
        "ignored columns", "Columns that were left out.", [NAME, Column("Why", words=True)], ignored
    )
    return {
        "words": [said, *([data["note"]] if data.get("note") else [])],
        "table": html_table("columns and kinds", "All columns that were learnt.", heads, rows),
        "ignored": replace(left_out, sortable=False) if ignored else None,
        "conversions": data.get("conversions", []),
    }
