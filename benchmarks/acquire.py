"""Which cell to ask for next: the target's error against the number of cells asked for.

python benchmarks/acquire.py                                        # some minutes on one thread
python benchmarks/acquire.py --cache DIR --seeds 5 --first 200 --collect paper/acquisition/report.json
python benchmarks/acquire.py --cache DIR --seeds 5 --first 100 --trees --collect paper/acquisition/trees.json
python benchmarks/acquire.py --table paper/acquisition/report.json  # nothing is trained
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

from _acquisition_tables import page, printed

STEPS, SEEDS, FAMILIES = 900, 3, ("vaem",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="a folder in which finished curves are kept, and found again")
    parser.add_argument("--collect", type=Path, help="where to write the report")
    parser.add_argument("--table", type=Path, help="print the tables of a report; nothing is trained")
    parser.add_argument("--summary", action="store_true", help="of these tables, only the first")
    parser.add_argument("--tables", nargs="+", help="only some tables")
    parser.add_argument("--families", nargs="+", default=FAMILIES)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--trees", action="store_true", help="let boosted trees have a say in guesses")
    parser.add_argument("--first", type=int, default=0, help="the first seed; the others follow")
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    if options.table:
        print(page(options.table, *["--summary"] * options.summary))
        return
    report = {**about(options), "curves": measured(options)}
    if options.collect:
        options.collect.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(printed(report))


def about(options: argparse.Namespace) -> dict[str, Any]:
    """What the curves were made with."""
    import sklearn
    import torch
    from _acquisition import TARGETS

    versions = {"python": platform.python_version(), "torch": torch.__version__, "scikit-learn": sklearn.__version__}
    return {
        "command": "python benchmarks/acquire.py",
        "steps": options.steps,
        "trees": options.trees,
        "seeds": list(range(options.first, options.first + options.seeds)),
        "threads": 1,
        "versions": versions,
        "hardware": platform.processor() or platform.machine(),
        "targets": {name: TARGETS[name] for name in options.tables or TARGETS},
    }


def measured(options: argparse.Namespace) -> dict[str, dict[str, list[dict[str, list[float]]]]]:
    """Curves by table, family and seed."""
    import torch
    from _acquisition import TARGETS

    torch.set_num_threads(1)
    return {
        name: {
            family: [
                _once(name, seed, family, options) for seed in range(options.first, options.first + options.seeds)
            ]
            for family in options.families
        }
        for name in options.tables or TARGETS
    }


def _once(name: str, seed: int, family: str, options: argparse.Namespace) -> dict[str, list[float]]:
    from _acquisition import curves

    label = f"{name}-{family}{'-trees' * options.trees}-{seed}-{options.steps}.json"
    path = options.cache and options.cache / label
    if path and path.is_file():
        found: dict[str, list[float]] = json.loads(path.read_text(encoding="utf-8"))
        return found
    found = curves(name, seed, family, options.steps, trees=options.trees)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
