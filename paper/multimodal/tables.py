"""What happens under the tight bound, from the committed reports.

python paper/multimodal/tables.py reports mmvae  # the paper's setting on MNIST-SVHN-Text, every arm, beside the paper
python paper/multimodal/tables.py safe mmvae     # our default, trained as long
python paper/multimodal/tables.py default        # our default, trained for longer
python paper/multimodal/tables.py fashion        # Fashion-MNIST, which nothing was tuned to: who lives
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.lab import read_reports
from evenhand.lab.results import Cell, Table, all_live, beside_the_paper

HERE = Path(__file__).resolve().parent
Report = Mapping[str, Any]


def table(name: str, model: str = "mmvae", objective: str = "siwae") -> str:
    """The table of a folder of reports beside this file, in Markdown."""
    folder = HERE / name
    reports = read_reports(folder) if folder.is_dir() else []
    if not reports:
        return f"*No report has been committed to paper/multimodal/{name} yet.*"
    fashion = name == "fashion"
    made = lives(reports) if fashion else beside_the_paper(reports, experts=model, objective=objective)
    return made.to_markdown()


def lives(reports: Sequence[Report]) -> Table:
    """A line for every seed: who lives, with which share of the weights and which rate, and what is generated."""
    names = reports[0]["scores"]["names"]
    pairs = [([given], target) for target in names for given in names]
    header = ["seed", "steps", "all live", f"share {', '.join(names)}", f"rate {', '.join(names)}", "bound"]
    header += [f"{target} from {given[0]}" for given, target in pairs]
    rows: list[list[str | Cell]] = []
    for report in sorted(reports, key=lambda r: r["config"]["training"]["seed"]):
        experts = report["experts"]
        rows.append(
            [
                str(report["config"]["training"]["seed"]),
                f"{experts['steps'][-1]:,}",
                "yes" if all_live(report) else "no",
                ", ".join(f"{share:.2f}" for share in experts["share"][-1]),
                ", ".join(f"{rate:.1f}" for rate in experts["rate"][-1]),
                Cell(report["bounds"]["test"], 1),
                *(Cell(100 * coherence(report, given, target), 1) for given, target in pairs),
            ]
        )
    ceilings = {d: statistics.fmean(r["scores"]["classifiers"][d] for r in reports) for d in names}
    blank = [""] * 5
    rows.append(["ceiling", *blank, *(Cell(100 * ceilings[target], 1) for _, target in pairs)])
    alive = sum(map(all_live, reports))
    note = f"All experts lived in {alive} of {len(reports)} trainings. The rest is coherence in percent."
    return Table("Fashion-MNIST, SIWAE with all defaults", [header], rows, [note])


def coherence(report: Report, given: Sequence[str], target: str) -> float:
    """How often a modality generated from others shows the right class."""
    records = report["scores"]["coherence"]
    return next(float(r["value"]) for r in records if r["given"] == list(given) and r["target"] == target)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["reports", "safe", "default", "fashion"])
    parser.add_argument("model", nargs="?", default="mmvae", choices=["mvae", "mmvae", "mopoe"])
    parser.add_argument("objective", nargs="?", default="siwae", choices=["elbo", "iwae", "siwae"])
    asked = parser.parse_args()
    print(table(asked.name, asked.model, asked.objective))


if __name__ == "__main__":
    main()
