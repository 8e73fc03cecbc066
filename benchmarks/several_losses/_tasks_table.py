"""The tables of `multitask.py`, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ._choices import (
    Choice,
    Run,
    by_data,
    chosen,
    difference,
    footnote,
    markdown,
    percent,
    verdict,
)

ALONE = ("first task alone", "second task alone")
EQUAL = "weights 0.5 : 0.5"
HEAD = ["", "first task", "second task", "mean", "worst", "Δm, %", "mean, against tuned weights", "lr", "ms a step"]


def tables(report: Mapping[str, Any]) -> str:
    """One table for each data set."""
    costs = report.get("costs", {}).get("milliseconds", {})
    return "\n\n".join(_table(name, runs, costs) for name, runs in by_data(report).items())


def _table(name: str, runs: Sequence[Run], costs: Mapping[str, float]) -> str:
    alone, tuned, others = choices(runs)
    differences = {label: difference(choice, tuned, statistics.fmean) for label, choice in others.items()}
    rows = [_row("each task alone", alone, alone, "", "")]
    rows += [_row(f"tuned weights, {tuned.name.removeprefix('weights ')}", tuned, alone, "", _cost(costs, tuned))]
    rows += [_row(n, c, alone, _marked(differences[n]), _cost(costs, c)) for n, c in others.items()]
    parts = [f"**{name.capitalize()}**", markdown(HEAD, rows), verdict(differences, "tuned weights"), footnote(runs)]
    return "\n\n".join(parts)


def choices(runs: Sequence[Run]) -> tuple[Choice, Choice, dict[str, Choice]]:
    """Each task alone, the best fixed weights, and all others, every one with the better of its learning rates."""
    names = list(runs[0]["contenders"])
    fixed = [name for name in names if name.startswith("weights")]
    first, second = (chosen(runs, [name], lambda tasks, t=t: tasks[t]) for t, name in enumerate(ALONE))  # type: ignore[misc]
    alone = Choice("alone", first.lr, [[a[0], b[1]] for a, b in zip(first.test, second.test, strict=True)])
    rest = [EQUAL, *(n for n in names if n not in (*ALONE, *fixed))]
    others = {_label(name): chosen(runs, [name], statistics.fmean) for name in rest}
    return alone, chosen(runs, fixed, statistics.fmean), others


def delta_m(choice: Choice, alone: Choice) -> float:
    """How much worse than single tasks, relative, as a mean over tasks; lower is better."""
    losses = [1 - choice.mean(lambda x, t=t: x[t]) / alone.mean(lambda x, t=t: x[t]) for t in range(2)]  # type: ignore[misc]
    return statistics.fmean(losses)


def _label(name: str) -> str:
    return "equal weights" if name == EQUAL else name


def _row(label: str, choice: Choice, alone: Choice, against: str, cost: str) -> list[str]:
    tasks = [percent(choice.mean(lambda x, t=t: x[t])) for t in range(2)]  # type: ignore[misc]
    mean = f"{percent(choice.mean(statistics.fmean))} ± {percent(choice.spread(statistics.fmean))}"
    return [
        *(label, *tasks, mean, percent(choice.mean(min))),
        *(f"{100 * delta_m(choice, alone):+.2f}", against, f"{choice.lr:g}", cost),
    ]


def _marked(found: Any) -> str:
    return f"**{found}**" if found.is_clear else str(found)


def _cost(costs: Mapping[str, float], choice: Choice) -> str:
    return f"{costs[choice.name]:.2f}" if choice.name in costs else ""
