"""What several modalities learn of each other, from the committed reports.

python paper/multimodal/tables.py reports mmvae iwae  # the paper's setting on MNIST-SVHN-Text, beside the paper
python paper/multimodal/tables.py longer mmvae   # the same for four times as many steps
python paper/multimodal/tables.py followed mmvae # how coherence grew over these
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
from evenhand.lab.results import BASELINE, SPEAKS, Cell, Table, all_live, beside_the_paper, impartiality_label

HERE = Path(__file__).resolve().parent
Report = Mapping[str, Any]


def table(name: str, model: str = "mmvae", objective: str = "siwae") -> str:
    """The table of a folder of reports beside this file, in Markdown."""
    folder = HERE / ("longer" if name == "followed" else name)
    reports = read_reports(folder) if folder.is_dir() else []
    if not reports:
        return f"*No report has been committed to paper/multimodal/{name} yet.*"
    if name == "fashion":
        return lives(reports).to_markdown()
    if name == "followed":
        return over_steps([r for r in reports if r["config"]["model"]["experts"] == model]).to_markdown()
    return beside_the_paper(reports, experts=model, objective=objective).to_markdown()


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


def over_steps(reports: Sequence[Report]) -> Table:
    """A line for every arm and step: mean coherence of validation rows with the weights of that step."""
    arms: dict[tuple[str, int], list[dict[tuple[str, str], float]]] = {}
    for report in reports:
        for entry in report["followed"]:
            values = {(record["given"][0], record["target"]): record["value"] for record in entry["coherence"]}
            arms.setdefault((impartiality_label(report["config"]["impartial"]), entry["step"]), []).append(values)
    names = reports[0]["scores"]["names"]
    pairs = [(given, target) for target in names for given in names]
    letters = {name: name[0].upper() for name in names}
    rows: list[list[str | Cell]] = []
    for (arm, step), seeds in sorted(arms.items(), key=lambda item: (item[0][0] != BASELINE, *item[0])):
        speak = [sum(values[name, name] >= SPEAKS for values in seeds) for name in names]
        means = [Cell(100 * statistics.fmean(values[pair] for values in seeds), 1) for pair in pairs]
        rows.append([arm, f"{step:,}", *means, ", ".join(map(str, speak)), str(len(seeds))])
    titles = [f"{letters[target]}|{letters[given]}" for given, target in pairs]
    note = "Means over seeds of 2,000 validation rows, with the weights of the step, not the best ones."
    header = ["", "steps", *titles, f"{', '.join(letters.values())} speak", "seeds"]
    return Table("Coherence (%) over training", [header], rows, [note], n_labels=2)


def coherence(report: Report, given: Sequence[str], target: str) -> float:
    """How often a modality generated from others shows the right class."""
    records = report["scores"]["coherence"]
    return next(float(r["value"]) for r in records if r["given"] == list(given) and r["target"] == target)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["reports", "longer", "followed", "safe", "default", "fashion"])
    parser.add_argument("model", nargs="?", default="mmvae", choices=["mvae", "mmvae", "mopoe"])
    parser.add_argument("objective", nargs="?", default="siwae", choices=["elbo", "iwae", "siwae"])
    asked = parser.parse_args()
    print(table(asked.name, asked.model, asked.objective))


if __name__ == "__main__":
    main()
