"""The table of `fusion.py`, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._choices import (
    Choice,
    Criterion,
    Run,
    by_data,
    chosen,
    cost_of,
    difference,
    footnote,
    markdown,
    marked,
    percent,
    verdict,
)

EQUAL, TUNED = "weights 1 : 1 : 1", "tuned weights"
ENDS = ("joint loss alone", "each modality alone")  # they lack a loss, and are no contenders
AGAINST = ["joint, against tuned", "SVHN probe, against tuned"]
HEAD = ["", "joint", "MNIST probe", "SVHN probe", *AGAINST, "lr", "ms a step"]
MEASURES = (0, 3, 4)  # the joint head, and the probes


def joint(measures: Sequence[float]) -> float:
    return measures[0]


def slow(measures: Sequence[float]) -> float:
    """What is left of the slow modality."""
    return measures[4]


def tables(report: Mapping[str, Any]) -> str:
    """One table; choices are made by the joint accuracy."""
    costs = report.get("costs", {}).get("milliseconds", {})
    return "\n\n".join(_table(name, runs, costs) for name, runs in by_data(report).items())


def choices(runs: Sequence[Run]) -> tuple[Choice, dict[str, Choice]]:
    """The best fixed weights, and all others, every one at its best learning rate."""
    names = list(runs[0]["contenders"])
    fixed = [name for name in names if name.startswith("weights")]
    others = {name: [name] for name in names if name not in fixed} | {"equal weights": [EQUAL]}
    return chosen(runs, fixed, joint), {label: chosen(runs, group, joint) for label, group in others.items()}


def _table(name: str, runs: Sequence[Run], costs: Mapping[str, float]) -> str:
    tuned, others = choices(runs)
    rows = [_row(f"{TUNED}, {tuned.name.removeprefix('weights ')}", tuned, None, costs)]
    rows += [_row(label, choice, tuned, costs) for label, choice in others.items()]
    rivals = {label: choice for label, choice in others.items() if label not in ENDS}
    said = [
        f"{what}: {verdict({n: difference(c, tuned, by) for n, c in rivals.items()}, TUNED)}"
        for what, by in (("Joint accuracy", joint), ("SVHN probe", slow))
    ]
    return "\n\n".join([f"**{name}**", markdown(HEAD, rows), *said, footnote(runs)])


def _row(label: str, choice: Choice, tuned: Choice | None, costs: Mapping[str, float]) -> list[str]:
    shown = [f"{percent(choice.mean(by))} ± {percent(choice.spread(by))}" for by in map(_measure, MEASURES)]
    against = ["", ""] if tuned is None else [marked(difference(choice, tuned, by)) for by in (joint, slow)]
    return [label, *shown, *against, f"{choice.lr:g}", cost_of(costs, choice)]


def _measure(i: int) -> Criterion:
    return lambda measures: measures[i]
