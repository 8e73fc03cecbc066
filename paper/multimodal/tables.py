"""What several modalities learn of each other, from the committed reports.

python paper/multimodal/tables.py reports mmvae iwae  # the paper's setting on MNIST-SVHN-Text, beside the paper
python paper/multimodal/tables.py longer mmvae   # the same for four times as many steps
python paper/multimodal/tables.py followed mmvae # how coherence grew over these
python paper/multimodal/tables.py settled        # whether it still grew by more than seeds differ
python paper/multimodal/tables.py safe mmvae     # our default, trained as long
python paper/multimodal/tables.py default        # our default, trained for longer
python paper/multimodal/tables.py fashion        # Fashion-MNIST, which nothing was tuned to: who lives
python paper/multimodal/tables.py digits/forward # digits in three modalities, likelihoods scaled forward
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from evenhand.lab import read_reports
from evenhand.lab.results import (
    MODELS,
    SPEAKS,
    Cell,
    Table,
    all_live,
    beside_the_paper,
    coherence_rows,
    impartiality_label,
    latent_rows,
    multimodal_results,
    rate_rows,
    reconstruction_rows,
)

HERE = Path(__file__).resolve().parent
DIGITS = ("digits/forward", "digits/backward")  # where likelihoods are scaled
Report = Mapping[str, Any]
Seeds = list[dict[tuple[str, str], float]]
"""Of every seed, coherence of what is generated (second) from one modality (first)."""


def table(name: str, model: str = "mmvae", objective: str = "siwae") -> str:
    """The table of a folder of reports beside this file, in Markdown."""
    folder = HERE / ("longer" if name in {"followed", "settled"} else name)
    reports = read_reports(folder) if folder.is_dir() else []
    if not reports:
        return f"*No report has been committed to paper/multimodal/{name} yet.*"
    if name == "fashion":
        return lives(reports).to_markdown()
    if name.startswith("digits"):
        return of_digits(reports).to_markdown()
    if name == "settled":
        return settled(reports).to_markdown()
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


def of_digits(reports: Sequence[Report]) -> Table:
    """A line for every choice of goals: coherence, latent classes, rates."""
    results = multimodal_results(reports, "siwae", data="digits_in_three")
    kinds = coherence_rows(results), reconstruction_rows(results), latent_rows(results), rate_rows(results)
    rows: list[list[str | Cell]] = []
    header: list[str] = []
    for coherent, rebuilt, latent, rates in zip(*kinds, strict=True):
        cells = {title: cell for title, cell in coherent.items() if "|" in title}
        cells |= {f"{d}|DCT": rebuilt[d] for d in "DCT"}
        cells |= {f"latent {name}": latent[name] for name in ("self", "cross")}
        cells |= {f"rate {d}": rates[d] for d in "DCT"}
        header = ["", *cells]
        rows.append([str(coherent["method"]), *(rounded(cell) for cell in cells.values())])
    seeds = ", ".join(str(n) for n in sorted({len(scores) for _, _, scores in results}))
    note = f"Means over {seeds} seeds. Bold: better than vanilla by a one-sided t-test, alpha = 0.1. Rates in nats."
    return Table("Coherence and latent classification (%), digits in three modalities", [header], rows, [note])


def rounded(cell: str | Cell) -> str | Cell:
    """A mean with one digit behind the point, without its deviation."""
    return cell if isinstance(cell, str) else Cell(cell.value, 1, bold=cell.bold)


def over_steps(reports: Sequence[Report]) -> Table:
    """A line for every arm and step: mean coherence of validation rows with the weights of that step."""
    names = reports[0]["scores"]["names"]
    pairs = [(given, target) for target in names for given in names]
    rows: list[list[str | Cell]] = []
    for arm, steps in followed_arms(reports).items():
        for step, seeds in steps.items():
            speak = [sum(values[name, name] >= SPEAKS for values in seeds) for name in names]
            means = [Cell(100 * statistics.fmean(values[pair] for values in seeds), 1) for pair in pairs]
            rows.append([arm, f"{step:,}", *means, ", ".join(map(str, speak)), str(len(seeds))])
    note = "Means over seeds of 2,000 validation rows, with the weights of the step, not the best ones."
    header = ["", "steps", *map(title, pairs), f"{', '.join(name[0].upper() for name in names)} speak", "seeds"]
    return Table("Coherence (%) over training", [header], rows, [note], n_labels=2)


def settled(reports: Sequence[Report]) -> Table:
    """A line for every model and arm: in how many of the nine columns coherence moved by more than seeds differ."""
    rows: list[list[str | Cell]] = []
    spans: list[str] = []
    for model, label in MODELS.items():
        for arm, steps in followed_arms([r for r in reports if r["config"]["model"]["experts"] == model]).items():
            looks = list(steps.items())
            spans = [f"{before:,} to {after:,}" for (before, _), (after, _) in pairwise(looks)]
            moves = [moved(before, after) for (_, before), (_, after) in pairwise(looks)]
            counts = [str(sum(abs(move) > spread for move, spread in columns.values())) for columns in moves]
            last = moves[-1]
            most = max(last, key=lambda pair: abs(last[pair][0]) / last[pair][1])
            rows.append([f"{label}, {arm}", *counts, f"{title(most)} {last[most][0]:+.1f}, {last[most][1]:.1f}"])
    header = ["", *spans, "most in the last span: points, deviation"]
    note = "Columns, of nine, whose mean moved by more than the standard deviation over seeds at the end."
    return Table("Does coherence still change by more than seeds differ?", [header], rows, [note])


def moved(before: Seeds, after: Seeds) -> dict[tuple[str, str], tuple[float, float]]:
    """By how many points the mean of every column moved, and the standard deviation over seeds at the end."""
    return {
        pair: (
            100 * (statistics.fmean(v[pair] for v in after) - statistics.fmean(v[pair] for v in before)),
            100 * statistics.stdev(v[pair] for v in after),
        )
        for pair in after[0]
    }


def followed_arms(reports: Sequence[Report]) -> dict[str, dict[int, Seeds]]:
    """Of every arm and step, what was measured on the way in every seed. Plain training comes first."""
    arms: dict[str, dict[int, Seeds]] = {}
    for report in sorted(reports, key=lambda r: bool(r["config"]["impartial"]["goals"])):
        steps = arms.setdefault(impartiality_label(report["config"]["impartial"]), {})
        for entry in report["followed"]:
            values = {(record["given"][0], record["target"]): record["value"] for record in entry["coherence"]}
            steps.setdefault(entry["step"], []).append(values)
    return arms


def title(pair: tuple[str, str]) -> str:
    """What a column is called: "S|M" for SVHN generated from MNIST."""
    given, target = pair
    return f"{target[0].upper()}|{given[0].upper()}"


def coherence(report: Report, given: Sequence[str], target: str) -> float:
    """How often a modality generated from others shows the right class."""
    records = report["scores"]["coherence"]
    return next(float(r["value"]) for r in records if r["given"] == list(given) and r["target"] == target)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "name", choices=["reports", "longer", "followed", "settled", "safe", "default", "fashion", *DIGITS]
    )
    parser.add_argument("model", nargs="?", default="mmvae", choices=list(MODELS))
    parser.add_argument("objective", nargs="?", default="siwae", choices=["elbo", "iwae", "siwae"])
    asked = parser.parse_args()
    print(table(asked.name, asked.model, asked.objective))


if __name__ == "__main__":
    main()
