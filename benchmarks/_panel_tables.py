"""The tables of the panels, from a report; needs nothing but the results."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, stdev

from _imputation_tables import markdown

Results = dict[tuple[str, str], dict[int, dict[str, float]]]
MEASURES = ("error", "cells", "visits", "next visit")
VAES = ("reconstruction", "hidden, through z", "error", "rate", "seconds")


def page(path: Path) -> str:
    """All tables of a report."""
    results = by_panel_and_side(json.loads(path.read_text(encoding="utf-8"))["results"])
    panels = list(dict.fromkeys(panel for panel, _ in results))
    sides = list(dict.fromkeys(side for _, side in results))
    parts = [errors(results, panels, sides, measure) for measure in MEASURES]
    return "\n\n".join([*parts, latent(results, panels, sides)])


def by_panel_and_side(found: dict[str, dict[str, float]]) -> Results:
    """What was measured, by panel and side, then by seed."""
    results: Results = {}
    for key, measured in found.items():
        panel, side, seed = key.split(" | ")
        results.setdefault((panel, side), {})[int(seed)] = measured
    return results


TITLES = {
    "error": "Error on all hidden cells",
    "cells": "Error on cells hidden alone",
    "visits": "Error on visits hidden as a whole",
    "next visit": "Error on those that are the last of their history: the next visit",
}


def errors(results: Results, panels: list[str], sides: list[str], measure: str) -> str:
    """Means over seeds with their deviations; the lowest in bold."""
    rows = []
    for panel in panels:
        there = {side: results[panel, side] for side in sides if (panel, side) in results}
        means = {side: mean(seed[measure] for seed in seeds.values()) for side, seeds in there.items()}
        best = min(means.values())
        cells = [_bold(shown(there[s], measure), means[s] == best) if s in there else "" for s in sides]
        rows.append([panel, *cells])
    return markdown(TITLES[measure], ["", *sides], rows)


def latent(results: Results, panels: list[str], sides: list[str]) -> str:
    """What goes through the latent variables, plain and impartial."""
    rows = [
        [panel, side, *(shown(results[panel, side], measure) for measure in VAES), str(len(results[panel, side]))]
        for panel in panels
        for side in sides
        if (panel, side) in results and "rate" in next(iter(results[panel, side].values()))
    ]
    head = ["", "", "reconstruction", "hidden, through z", "hidden, best guess", "rate, nats", "CPU seconds", "seeds"]
    return markdown("Through the latent variables, plain and impartial", head, rows)


def shown(seeds: dict[int, dict[str, float]], measure: str) -> str:
    """A mean, and the deviation where there are several seeds."""
    values = [seed[measure] for seed in seeds.values()]
    digits = 0 if measure == "seconds" else 2 if measure == "rate" else 4
    spread = f" ± {stdev(values):.{digits}f}" if len(values) > 1 and measure != "seconds" else ""
    return f"{mean(values):.{digits}f}{spread}"


def _bold(text: str, yes: bool) -> str:
    return f"**{text}**" if yes else text
