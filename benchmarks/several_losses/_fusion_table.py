"""The table of `fusion.py`, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ._choices import Choice, Criterion, Run, by_data, chosen, difference, footnote, markdown, percent, verdict

EQUAL, TUNED = "weights 1 : 1 : 1", "tuned weights"
HEAD = [
    "",
    "joint",
    "MNIST probe",
    "SVHN probe",
    "joint, against tuned",
    "SVHN probe, against tuned",
    "lr",
    "ms a step",
]
MEASURES = (0, 3, 4)  # the joint head, and the probes


def joint(measures: Sequence[float]) -> float:
    return measures[0]


def slow(measures: Sequence[float]) -> float:
    """What is left of the slow modality."""
    return measures[4]


def everything(measures: Sequence[float]) -> float:
    return statistics.fmean(measures[i] for i in MEASURES)


def tables(report: Mapping[str, Any]) -> str:
    """Twice the same contenders: chosen by the joint accuracy, and by the mean of all three."""
    costs = report.get("costs", {}).get("milliseconds", {})
    parts = []
    for runs in by_data(report).values():
        parts.append(_table("Choices by the joint accuracy", runs, joint, costs))
        parts.append(_table("Choices by the mean of the three accuracies", runs, everything, costs))
        parts.append(footnote(runs))
    return "\n\n".join(parts)


def choices(runs: Sequence[Run], criterion: Criterion) -> tuple[Choice, dict[str, Choice]]:
    """The best fixed weights, and all others: OGM-GE at its best strength, every one at its best learning rate."""
    names = list(runs[0]["contenders"])
    groups = {name: [name] for name in names if not name.startswith(("weights", "OGM-GE"))}
    groups |= {"equal weights": [EQUAL], "OGM-GE": [name for name in names if name.startswith("OGM-GE")]}
    tuned = chosen(runs, [name for name in names if name.startswith("weights")], criterion)
    return tuned, {label: chosen(runs, group, criterion) for label, group in groups.items()}


def _table(title: str, runs: Sequence[Run], criterion: Criterion, costs: Mapping[str, float]) -> str:
    tuned, others = choices(runs, criterion)
    rows = [_row(f"{TUNED}, {tuned.name.removeprefix('weights ')}", tuned, None, costs)]
    rows += [_row(label, choice, tuned, costs) for label, choice in others.items()]
    # the two ends lack a head or a joint loss, and are no contenders
    rivals = {n: c for n, c in others.items() if n not in ("joint loss alone", "each modality alone")}
    said = [
        f"{what}: {verdict({n: difference(c, tuned, by) for n, c in rivals.items()}, TUNED)}"
        for what, by in (("Joint accuracy", joint), ("SVHN probe", slow))
    ]
    return "\n\n".join([f"**{title}**", markdown(HEAD, rows), *said])


def _row(label: str, choice: Choice, tuned: Choice | None, costs: Mapping[str, float]) -> list[str]:
    shown = [f"{percent(choice.mean(by))} ± {percent(choice.spread(by))}" for by in map(_measure, MEASURES)]
    against = ["", ""] if tuned is None else [_marked(difference(choice, tuned, by)) for by in (joint, slow)]
    cost = f"{costs[choice.name]:.2f}" if choice.name in costs else ""
    return [label, *shown, *against, f"{choice.lr:g}", cost]


def _measure(i: int) -> Criterion:
    return lambda measures: measures[i]


def _marked(found: Any) -> str:
    return f"**{found}**" if found.is_clear else str(found)
