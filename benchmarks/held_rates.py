"""VAEM on three tables and LongitudinalVAE on three panels: plain and impartial training held at one rate.

python benchmarks/held_rates.py --out paper/families/reports    # about half an hour on one thread
evenhand results held-rate --from paper/families/reports        # nothing is trained

What is done is not done again. Panels are written to panels/ in the folder of the runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.lab import PanelExperiment, TableExperiment

METHODS = ("sum", "gradnorm", "imtlg", "pcgrad", "cagrad")
SEEDS = 5
TABLES, TABLE_ROWS, TABLE_STEPS, TABLE_RATE = ("wine", "labour", "diamonds"), 2000, 1000, 3.0
HISTORIES, PANEL_STEPS, PANEL_RATE = 400, 450, 2.0


def table_config(name: str) -> TableExperiment:
    """VAEM on a table, in the setting of `evenhand compare`, with the estimator's learning rate, which falls."""
    from evenhand.lab import Data, comparison

    options = {"model": "vaem", "n_seeds": SEEDS, "steps": TABLE_STEPS, "methods": METHODS}
    config = comparison(Data(name, rows=TABLE_ROWS), TABLE_ROWS, **options)
    runs = replace(config.runs, kl_weights=(), rates=(TABLE_RATE,))
    training = replace(config.training, lr=2e-3, decay=True)
    evaluation = replace(config.evaluation, generate=0, n_samples=5)
    return replace(config, runs=runs, training=training, evaluation=evaluation)


def panel_config(name: str) -> PanelExperiment:
    """LongitudinalVAE on the first histories of a panel, in the setting of `evenhand compare`."""
    from _panels import whole_panel

    from evenhand.lab import Data, panel_comparison

    frame, who = whole_panel(name)
    path = Path("panels") / f"{name}.csv"
    path.parent.mkdir(exist_ok=True)
    frame[frame[who].isin(frame[who].unique()[:HISTORIES])].to_csv(path, index=False)
    options = {"id": who, "time": "year", "n_seeds": SEEDS, "steps": PANEL_STEPS, "methods": METHODS}
    config = panel_comparison(Data(path=str(path)), HISTORIES, **options)
    return replace(config, runs=replace(config.runs, kl_weights=(), rates=(PANEL_RATE,)))


def run(out: Path, only: list[str] | None) -> None:
    """Run what is not done, and copy the reports."""
    from _panels import PANELS

    from evenhand.lab import run

    for name in only or (*TABLES, *PANELS):
        config = table_config(name) if name in TABLES else panel_config(name)
        folder = run(config, "runs", device="cpu", command="python benchmarks/held_rates.py")
        shutil.copy(folder.path / "report.json", out / f"{config.name}.json")
        print(f"done: {config.name}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where the reports go")
    parser.add_argument("--folder", type=Path, default=Path(), help="where runs and panels are kept")
    parser.add_argument("--only", nargs="+", help="only some tables and panels")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(options.folder)  # a report names a panel by its path from here
    run(out, options.only)


if __name__ == "__main__":
    main()
