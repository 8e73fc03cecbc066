"""Plain against impartial training on digits in five modalities, from the committed reports.

python paper/digits_in_five/table.py
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.lab import read_reports
from evenhand.lab.results import Cell, Table, all_live, better

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE / "reports", HERE / "restored")  # gradients as they are settled, and with restored norms
MODELS = {"mmvae": "MMVAE", "mopoe": "MoPoE"}
GIVEN = (1, 2, 3, 4)  # modalities from which another one is generated
Report = Mapping[str, Any]
Arm = tuple[str, tuple[str, ...], bool]
"""The experts, the goals, and whether norms are restored."""


def table() -> str:
    """The table in Markdown."""
    return by_given(read_reports(*FOLDERS)).to_markdown()


def by_given(reports: Sequence[Report]) -> Table:
    """A line for every model and choice of goals: coherence by how many modalities are given, rates, survival."""
    arms: dict[Arm, list[Report]] = {}
    for report in sorted(reports, key=_order):
        arms.setdefault(_arm(report), []).append(report)
    rows = [[*_labels(arm), *_numbers(some, arms.get((arm[0], (), False), []))] for arm, some in arms.items()]
    header = ["", "goals", "norms", "self", *(f"cross, {n} given" for n in GIVEN), "all given", "joint"]
    header += ["rate, 1 given", "rate, all given", "bound", "all live", "seeds"]
    return Table("Coherence (%) of digits in five modalities, SIWAE", [header], rows, _notes(reports), n_labels=3)


def coherence(report: Report, n: int, *, own: bool) -> float:
    """The mean coherence (%) given n modalities, of targets that are among them (own) or not."""
    records = [
        r for r in report["scores"]["coherence"] if len(r["given"]) == n and (r["target"] in r["given"]) == own
    ]
    return 100 * statistics.fmean(r["value"] for r in records)


def rate(report: Report, n: int) -> float:
    """The mean rate of the subsets of n modalities, in nats."""
    pairs = zip(report["scores"]["subsets"], report["scores"]["rates"], strict=True)
    return statistics.fmean(nats for subset, nats in pairs if len(subset) == n)


def _arm(report: Report) -> Arm:
    experts, impartial = report["config"]["model"]["experts"], report["config"]["impartial"]
    goals = tuple(impartial["goals"])
    return experts, goals, bool(goals) and impartial["preserve_norm"]


def _order(report: Report) -> tuple[Any, ...]:
    experts, goals, restored = _arm(report)
    return list(MODELS).index(experts), len(goals), restored, report["config"]["training"]["seed"]


def _labels(arm: Arm) -> list[str]:
    experts, goals, restored = arm
    norms = "" if not goals else "restored" if restored else "as settled"
    return [MODELS[experts], " + ".join(goals) or "none", norms]


def _numbers(reports: Sequence[Report], plain: Sequence[Report]) -> list[str | Cell]:
    """What an arm reached; bold where plain training is beaten."""
    n_all = len(reports[0]["scores"]["names"])
    measures = [lambda r: coherence(r, 1, own=True)]
    measures += [lambda r, n=n: coherence(r, n, own=False) for n in GIVEN]
    measures += [lambda r: coherence(r, n_all, own=True), lambda r: 100 * r["scores"]["joint_coherence"]]
    cells: list[str | Cell] = []
    for measure in measures:
        values = [measure(r) for r in reports]
        cells.append(Cell(statistics.fmean(values), 1, better(values, [measure(r) for r in plain])))
    return [
        *cells,
        Cell(statistics.fmean(rate(r, 1) for r in reports), 1),
        Cell(statistics.fmean(rate(r, n_all) for r in reports), 1),
        Cell(statistics.fmean(r["bounds"]["test"] for r in reports), 1),
        f"{sum(map(all_live, reports))} of {len(reports)}",
        str(len(reports)),
    ]


def _notes(reports: Sequence[Report]) -> list[str]:
    judges = reports[0]["scores"]["classifiers"]
    ceilings = ", ".join(f"{name} {100 * share:.1f}" for name, share in judges.items())
    return [
        "Means over seeds and over all subsets of that size; chance is 10. Self: a modality from itself; cross: from "
        "others; joint: all five show the same digit in samples of the prior. Rates in nats. Bold: better than plain "
        "training by a one-sided t-test, alpha = 0.1.",
        f"Ceilings, how often the judges are right about real test items (%): {ceilings}.",
    ]


if __name__ == "__main__":
    print(table())
