"""Forecast the last visit of histories that were not trained on: the last cell, the network alone, LongitudinalVAE.

python benchmarks/forecast.py --out paper/longitudinal/forecast.json --seeds 5
python benchmarks/forecast.py --table paper/longitudinal/forecast.json

A fifth of the histories of three panels are for testing: all visits but the last are shown, and `forecast` gives the
last. `shares for holes` mixes network and last cell as was best for holes, which `transform` fills.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

SIDES = ("last cell", "network alone", "shares for holes", "LongitudinalVAE")


def run(path: Path, seeds: int) -> None:
    """Run all of it, and write a report."""
    import torch
    from _panels import PANELS

    from evenhand import __version__

    torch.set_num_threads(1)
    results = {f"{panel} | {seed}": measured(panel, seed) for seed in range(seeds) for panel in PANELS}
    versions = {"evenhand": __version__, "torch": torch.__version__, "python": platform.python_version()}
    about = {"command": f"python benchmarks/forecast.py --out {path} --seeds {seeds}", "versions": versions}
    path.write_text(json.dumps({**about, "hardware": "CPU, one thread", "results": results}, indent=1) + "\n")


def measured(panel: str, seed: int) -> dict[str, float]:
    """The mean error over columns of every side."""
    from _panels import whole_panel

    from evenhand.tables import LongitudinalVAE, Schema

    frame, who = whole_panel(panel)
    schema = Schema.infer(frame, {who: "ignore", "year": "ignore"})
    ids = np.random.default_rng(seed).permutation(frame[who].unique())
    tested = frame[who].isin(ids[: len(ids) // 5])
    last = ~frame[who].duplicated(keep="last")
    model = LongitudinalVAE(id=who, time="year", random_state=seed, verbose=False).fit(frame[~tested])
    fitted, found = model._fitted, {}
    shares = dict(zip(SIDES, (0.0, 1.0, fitted.shares, fitted.shares_ahead), strict=True))
    for side, share in shares.items():
        fitted.shares_ahead = np.broadcast_to(share, fitted.shares.shape)
        found[side] = round(error(model.forecast(frame[tested & ~last], 1), frame, frame[tested & last], schema), 5)
    print(panel, seed, found, flush=True)
    return found


def error(guess: Any, frame: Any, truth: Any, schema: Any) -> float:
    """Errors of columns by the range of the whole panel, or shares of wrong classes; their mean."""
    import torch

    from evenhand.tables.frames import read
    from evenhand.tables.inference import column_errors

    known, cells, said = (read(x, schema) for x in (frame, truth, guess))
    ranges = torch.tensor(known.values.max(0) - known.values.min(0))
    values = (torch.tensor(cells.values), torch.tensor(said.values), torch.tensor(cells.observed))
    return float(column_errors(*values, schema, ranges=ranges).nanmean())


def page(path: Path) -> str:
    """The table of a report."""
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    panels = dict.fromkeys(key.split(" | ")[0] for key in results)
    lines = [f"|  | {' | '.join(SIDES)} | better than the last cell |", "| --- |" + " ---: |" * (len(SIDES) + 1)]
    for panel in panels:
        mine = [found for key, found in results.items() if key.startswith(f"{panel} | ")]
        means = [np.mean([found[side] for found in mine]) for side in SIDES]
        cells = [f"**{m:.4f}**" if m == min(means) else f"{m:.4f}" for m in means]
        wins = sum(found[SIDES[-1]] < found[SIDES[0]] for found in mine)
        lines.append(f"| {panel} | {' | '.join(cells)} | {wins} of {len(mine)} |")
    notes = "Means over seeds of the mean error over columns. The last column counts seeds of `LongitudinalVAE`."
    return "\n".join(["**Error of the next visit**", "", *lines, "", notes])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--table", type=Path)
    asked = parser.parse_args()
    if asked.table:
        print(page(asked.table))
    else:
        run(asked.out, asked.seeds)


if __name__ == "__main__":
    main()
