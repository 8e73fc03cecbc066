"""The lives of experts over training, for the page: who has the weight, and whose posterior stays sane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ..figures import Band, number, stacked_areas
from ._parts import listed

EQUAL = 1e-3  # shares that differ by less are the same: the bound gives every expert its own


def lives(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """A chart of the experts' shares of the weights, and words; None where all have the same by rule."""
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
    return {"chart": stacked_areas(experts["steps"], bands, label), "words": said}
