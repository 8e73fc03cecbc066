"""Fill the holes of three panels: rules, a regression with lags, a model of single rows, and LongitudinalVAE.

python benchmarks/longitudinal.py --out paper/longitudinal/report.json --seeds 3
python benchmarks/longitudinal.py --table paper/longitudinal/report.json

A report that is there is gone on with: what it has is not run again.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

from _panel_tables import page


def run(path: Path, seeds: int, only: list[str] | None) -> None:
    """Run what the report lacks, one seed of all after another, and write it after each."""
    import sklearn
    import torch
    from _panel_sides import SIDES, STEPS, measured
    from _panels import PANELS, holes_of

    torch.set_num_threads(1)
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"results": {}}
    versions = {"python": platform.python_version(), "torch": torch.__version__, "scikit-learn": sklearn.__version__}
    about = {"command": "python benchmarks/longitudinal.py", "steps": STEPS, "threads": 1, "versions": versions}
    for seed in range(seeds):
        for panel in PANELS:
            holes = holes_of(panel, seed)
            for side in only or SIDES:
                key = f"{panel} | {side} | {seed}"
                if key not in report["results"]:
                    report["results"][key] = measured(holes, side, seed)
                    print(key, report["results"][key], flush=True)
                    path.write_text(json.dumps(about | report, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    if arguments.table:
        print(page(arguments.table))
    else:
        run(arguments.out, arguments.seeds, arguments.only)


if __name__ == "__main__":
    main()
