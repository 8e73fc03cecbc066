"""The tables that a report of `over_time.py` makes; needs nothing but the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _imputation_tables import markdown
from _panel_tables import by_panel_and_side, shown

MEASURES = ("reconstruction", "hidden, through z", "hidden", "rate")


def page(path: Path) -> str:
    """What `find_blocks` says, and what settling over time changes."""
    report = json.loads(path.read_text(encoding="utf-8"))
    return f"{places(report)}\n\n{settled(report)}"


def places(report: dict[str, Any]) -> str:
    """Where visits meet, by panel and number of training steps, and how they get on there."""
    rows = []
    for key, blocks in report["blocks"].items():
        panel, steps = key.split(" | ")
        for block in blocks:
            shape = " x ".join(map(str, block["shapes"][0])) if len(block["shapes"]) == 1 else "parameters"
            numbers = [block[name] for name in ("lowest cosine", "mean cosine", "largest norm to smallest")]
            rows.append([panel, steps, block["place"], shape, *(f"{x:.2f}" for x in numbers)])
    head = ["", "steps", "place", "shape", "lowest cosine", "mean cosine", "largest norm to smallest"]
    return markdown("Where the losses of visits meet", head, rows)


def settled(report: dict[str, Any]) -> str:
    """Errors of trainings that settle visits where these meet."""
    results = by_panel_and_side(report["results"])
    rows = [
        [panel, method, *(shown(seeds, measure) for measure in MEASURES), str(len(seeds))]
        for (panel, method), seeds in results.items()
    ]
    head = [
        "",
        "visits settled by",
        "reconstruction",
        "hidden, through z",
        "hidden, best guess",
        "rate, nats",
        "seeds",
    ]
    return markdown("Settling over time", head, sorted(rows))
