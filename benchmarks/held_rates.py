"""VAEM on three tables and LongitudinalVAE on three panels: plain and impartial training held at one rate.

python benchmarks/held_rates.py --out paper/families/reports           # a quarter of an hour on one thread of its own
python benchmarks/held_rates.py --out paper/families/longer --size longer --only rwm5yr PSID7682 Males
python benchmarks/held_rates.py --out DIR --size full --rates 1 2 4    # longer trainings, more rows, several rates
evenhand results families --from paper/families/reports                # nothing is trained

What is done is not done again. Panels are written to panels/ in the folder of the runs, unless they are there.
"""

from __future__ import annotations

import argparse
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.lab import PanelExperiment, TableExperiment

METHODS = ("sum", "gradnorm", "imtlg", "pcgrad", "cagrad")
SEEDS = 5
TABLES = ("wine", "labour", "diamonds")
PANELS = {"rwm5yr": "id", "PSID7682": "id", "Males": "nr"}  # with their columns of ids


@dataclass(frozen=True)
class Size:
    """How much is trained on, and how long."""

    rows: int
    table_steps: int
    histories: int
    panel_steps: int
    methods: tuple[str, ...] = METHODS
    seeds: int = SEEDS


SIZES = {
    "small": Size(2000, 1000, 400, 450),
    "longer": Size(2000, 4000, 400, 1500, ("sum", "imtlg"), 2),
    "full": Size(5000, 3000, 1000, 1000),
}


def table_config(name: str, rate: float, size: Size) -> TableExperiment:
    """VAEM on a table, in the setting of `evenhand compare`, with the estimator's learning rate, which falls."""
    from evenhand.lab import Data, comparison

    data = Data(name, rows=size.rows)
    config = comparison(
        data, size.rows, model="vaem", n_seeds=size.seeds, steps=size.table_steps, methods=size.methods
    )
    runs = replace(config.runs, kl_weights=(f"rate:{rate:g}",))
    training = replace(config.training, lr=2e-3, decay=True)
    evaluation = replace(config.evaluation, generate=0, n_samples=5)
    return replace(config, runs=runs, training=training, evaluation=evaluation)


def panel_config(name: str, rate: float, size: Size) -> PanelExperiment:
    """LongitudinalVAE on the first histories of a panel, in the setting of `evenhand compare`."""
    from evenhand.lab import Data, panel_comparison

    who, path = PANELS[name], Path("panels") / f"{name}-{size.histories}.csv"
    if not path.is_file():
        _write_panel(name, size.histories, path)
    steps, data = size.panel_steps, Data(path=str(path))
    options = {"id": who, "time": "year", "n_seeds": size.seeds, "steps": steps, "methods": size.methods}
    config = panel_comparison(data, size.histories, **options)  # type: ignore[arg-type]
    return replace(config, runs=replace(config.runs, kl_weights=(f"rate:{rate:g}",)))


def _write_panel(name: str, histories: int, path: Path) -> None:
    from _panels import whole_panel

    frame, who = whole_panel(name)
    path.parent.mkdir(exist_ok=True)
    frame[frame[who].isin(frame[who].unique()[:histories])].to_csv(path, index=False)


def run(out: Path, names: list[str], rates: list[float] | None, size: Size) -> None:
    """Run what is not done, and copy the reports."""
    from evenhand.lab import run

    for name in names:
        for rate in rates or ([3.0] if name in TABLES else [2.0]):
            config = (table_config if name in TABLES else panel_config)(name, rate, size)
            folder = run(config, "runs", device="cpu", command="python benchmarks/held_rates.py")
            label = f"{config.name}-{rate:g}" if rates else config.name
            shutil.copy(folder.path / "report.json", out / f"{label}.json")
            print(f"done: {config.name}, {rate:g} nats", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where the reports go")
    parser.add_argument("--folder", type=Path, default=Path(), help="where runs and panels are kept")
    parser.add_argument("--only", nargs="+", default=[*TABLES, *PANELS], help="only some tables and panels")
    parser.add_argument("--rates", nargs="+", type=float, help="nats per row; 3 for tables and 2 for panels")
    parser.add_argument("--size", choices=SIZES, default="small")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(options.folder)  # a report names a panel by its path from here
    run(out, options.only, options.rates, SIZES[options.size])


if __name__ == "__main__":
    main()
