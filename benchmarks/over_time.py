"""Do the visits of a history conflict with one another, and does settling their gradients help?

python benchmarks/over_time.py --out paper/longitudinal/over_time.json    # some minutes on one thread
python benchmarks/over_time.py --table paper/longitudinal/over_time.json  # nothing is trained

A report that is there is gone on with: what it has is not run again.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

from _over_time_tables import page

SEEDS = 3
LOOKS = (1, 300)  # steps of training after which `find_blocks` is asked


def run(path: Path, seeds: int, panels: list[str] | None) -> None:
    """Run what the report lacks, and write it after each training."""
    import torch
    from _over_time import OVER_TIME, STEPS, found, measured
    from _panels import PANELS

    torch.set_num_threads(1)
    report: dict[str, Any] = {"command": "python benchmarks/over_time.py", "steps": STEPS, "threads": 1}
    report |= {"versions": {"python": platform.python_version(), "torch": torch.__version__}}
    report |= {"hardware": platform.processor() or platform.machine(), "blocks": {}, "results": {}}
    if path.is_file():
        report = json.loads(path.read_text(encoding="utf-8"))
    names = panels or list(PANELS)
    tasks = [("blocks", f"{panel} | {steps}", found, (panel, steps)) for panel in names for steps in LOOKS]
    tasks += [
        ("results", f"{panel} | {method} | {seed}", measured, (panel, method, seed))
        for seed in range(seeds)
        for panel in names
        for method in OVER_TIME
    ]
    for part, key, work, arguments in tasks:
        if key not in report[part]:
            report[part][key] = work(*arguments)
            path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
            print(key, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="print the tables of a report; nothing is trained")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--panels", nargs="+", help="only some panels")
    options = parser.parse_args()
    if options.table:
        print(page(options.table))
    else:
        run(options.out, options.seeds, options.panels)


if __name__ == "__main__":
    main()
