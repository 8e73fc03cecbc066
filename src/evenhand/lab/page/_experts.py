"""The lives of experts over training, for the page: who has the weight, and whose posterior stays sane."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ..figures import Band, number, stacked_areas
from ..results import Cell
from ._html_table import Column, HtmlTable, html_table
from ._parts import listed

EQUAL = 1e-3  # shares that differ by less are the same: the bound gives every expert its own


def lives(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """A chart of the experts' shares of the weights, words and a table; None where all have the same by rule."""
    experts = report.get("experts") or {}
    names, shares = experts.get("names", []), experts.get("share", [])
    if len(names) < 2 or not any(max(row) - min(row) > EQUAL for row in shares):
        return None
    bands = [Band(name, f"c{i % 7}", [row[i] for row in shares]) for i, name in enumerate(names)]
    last, rates = shares[-1], experts["rate"][-1]
    most = names[max(range(len(names)), key=lambda i: last[i])]
    words = f"At the end {most} has the most, {number(100 * max(last), 0)} %."
    nats = listed([f"{name} {number(rate, 0)}" for name, rate in zip(names, rates, strict=True)])
    label = f"Shares of the importance weights over training. {words}"
    said = Markup("{} Rates in nats: {}.").format(words, nats)
    return {"chart": stacked_areas(experts["steps"], bands, label), "words": said, "table": _last_readings(experts)}


def _last_readings(experts: Mapping[str, Any]) -> HtmlTable | None:
    """A row for every expert, as it was at the end; reports of 0.1.0 have none."""
    if "gradient_norm" not in experts:
        return None
    last = [experts[kind][-1] for kind in ("share", "rate", "gradient_norm")]
    rows: list[list[str | Cell]] = []
    for name, share, rate, norm, told in zip(experts["names"], *last, experts["log_likelihood_from"], strict=True):
        densities = [Cell(math.nan if x is None else x, 1) for x in told]
        rows.append([name, Cell(100 * share, 1), Cell(rate, 1), Cell(norm, 2), *densities])
    columns = [Column("Expert", words=True), Column("share, %"), Column("rate"), Column("gradient")]
    columns += [Column(f"log p of {name}", down=True) for name in experts["modalities"]]
    number_ = number(experts["effective_experts"][-1], 1)
    title = f"The experts at the end, in nats; {number_} of {len(rows)} count"
    return html_table(title, title, columns, rows)
