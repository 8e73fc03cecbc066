"""Who lives, who starves and whose posterior runs away, counted over the reports of short trainings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...modalities.training import Health, runs_away, starves
from ._reports import FORMAT, read_reports
from ._statistics import wilson
from ._table import UNKNOWN, Cell, Table

Report = Mapping[str, Any]
Run = Mapping[str, Any]
"""An entry of a report's "runs": an arm, a seed, and readings of the experts in the last steps."""

RULES = ("tight", "balanced", "tempered", "partly tight", "loose to tight", "defensive", "loose")
GOALS = ("none", "LI", "LI+EEI", "LI+EEI+DEI", "all")
ARM = ("rule", "scale", "goals", "restored", "steps")
KEPT = ("format", "experiment", "data", "experts", "versions", "hardware", "command", "note")


def read_survivals(
    name: str, places: Sequence[Path], note: Callable[[str], None], *, experiment: str, any_network: bool
) -> list[dict[str, Any]]:
    """The reports of counts, of one data set: a report may hold one training, or all of a sweep.

    Args:
        name: Of the table.
        places: Files and folders to look in.
        note: Is told where there was a choice.
        experiment: The kind, "survival".
        any_network: Changes nothing.
    """
    found = [report for report in read_reports(*places) if report["experiment"] == experiment]
    if not found:
        raise FileNotFoundError(
            f"There should be finished runs for {name} in {', '.join(map(str, places))}. Found none. To run them: "
            f"evenhand reproduce {name}"
        )
    data = found[0]["data"]["name"]
    others = sorted({str(report["data"]["name"]) for report in found} - {data})
    if others:
        note(f"Reports of {data} are shown, those of {', '.join(others)} are not. --from chooses.")
    return [report for report in found if report["data"]["name"] == data]


def survival(reports: Iterable[Report], *, published: bool = True) -> Table:
    """How many trainings ended with all experts alive, and what the experts were good for.

    Args:
        reports: Of one data set; where several have the same training, the first one counts.
        published: Changes nothing: the paper has no such numbers.
    """
    found = list(reports)
    runs = _different(found)
    experts, pairs = found[0]["experts"], _pairs(runs)
    labels = [name for name in ("scale",) if any(run[name] for run in runs)]
    groups: dict[tuple[Any, ...], list[Run]] = {}
    for run in sorted(runs, key=_order):
        groups.setdefault(tuple(run[name] for name in ARM), []).append(run)
    rows = [[*_arm(some[0], labels), *_numbers(some, len(experts), pairs)] for some in groups.values()]
    header = ["bound", *(["scales"] if labels else []), "goals", "norms", "steps", "all live", "no warning"]
    header += [f"{name} starves / runs away" for name in experts] + ["rate"]
    header += ["cross", *(pair.upper() for pair in pairs)] if pairs else []
    title = f"Experts alive at the end of training, {found[0]['data']['name']}"
    return Table(title, [header], rows, _notes(found), 4 + len(labels))


def collected(reports: Sequence[Report]) -> dict[str, Any]:
    """One report with the trainings of many; histories are left out."""
    first = reports[0]
    kept = {key: first[key] for key in KEPT if key in first}
    data = {key: value for key, value in first["data"].items() if key != "note"}
    runs = sorted(_different(reports), key=_order)
    return {**kept, "format": FORMAT, "name": f"{data['name']}-survival", "data": data, "runs": [*map(dict, runs)]}


# ---------------------------------------------------------------- inside


def _different(reports: Iterable[Report]) -> list[Run]:
    """All trainings, each once."""
    found: dict[tuple[Any, ...], Run] = {}
    for report in reports:
        for run in report["runs"]:
            warned = {"warned": len(report["sentences"])} if "sentences" in report else {}
            found.setdefault((*(run[name] for name in ARM), run["seed"]), {**run, **warned})
    return list(found.values())


def _order(run: Run) -> tuple[Any, ...]:
    rule = run["rule"].partition(",")[0].rstrip("0123456789. ")
    return (
        RULES.index(rule),
        run["rule"],
        run["scale"],
        GOALS.index(run["goals"]),
        not run["restored"],
        run["steps"],
        run["seed"],
    )


def _arm(run: Run, labels: Sequence[str]) -> list[str | Cell]:
    norms = "" if run["goals"] == "none" else "restored" if run["restored"] else "as settled"
    goals = "all" if run["goals"] == GOALS[3] else run["goals"]
    return [run["rule"], *(run[name] for name in labels), goals, norms, f"{run['steps']:,}"]


def _numbers(runs: Sequence[Run], n_experts: int, pairs: Sequence[str]) -> list[str | Cell]:
    """Survivors, deaths, rates and coherence of the trainings of an arm."""
    dead = [deaths(run["share"], run["rate"]) for run in runs]
    alive, n = sum(not any(map(any, found)) for found in dead), len(runs)
    low, high = wilson(alive, n)
    words = f"{alive} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"
    cells: list[str | Cell] = [Cell(alive / n, words=words), _unwarned(runs)]
    for i in range(n_experts):
        starved, away = (sum(found[i][kind] for found in dead) for kind in (0, 1))
        cells.append(f"{starved} / {away}")
    cells.append(", ".join(f"{statistics.median(run['rate'][i] for run in runs):,.0f}" for i in range(n_experts)))
    return [*cells, *_coherences(runs, pairs)]


def _unwarned(runs: Sequence[Run]) -> Cell:
    """In how many trainings `fit` warned of no expert, at any time."""
    known = [not run["warned"] for run in runs if "warned" in run]
    return Cell(sum(known) / len(known), words=f"{sum(known)} of {len(known)}") if known else UNKNOWN


def deaths(shares: Sequence[float], rates: Sequence[float]) -> list[tuple[bool, bool]]:
    """For every expert whether it starves, and whether its posterior has run away."""
    others = [[*rates[:i], *rates[i + 1 :]] for i in range(len(rates))]
    return [
        (starves(share, len(shares)), runs_away(rate, rest))
        for share, rate, rest in zip(shares, rates, others, strict=True)
    ]


def _pairs(runs: Sequence[Run]) -> list[str]:
    """What is generated from what, such as "t|m"."""
    return list(dict.fromkeys(pair for run in runs for pair in run.get("coherence", {})))


def _coherences(runs: Sequence[Run], pairs: Sequence[str]) -> list[str | Cell]:
    """Means over trainings in percent: over all pairs of different modalities, then of every pair."""
    values = [[run.get("coherence", {}).get(pair, math.nan) for run in runs] for pair in pairs]
    means = [_mean(some) for some in values]
    cross = _mean([x for x, pair in zip(means, pairs, strict=True) if len(set(pair.split("|"))) > 1])
    return [_percent(x) for x in ([cross, *means] if pairs else [])]


def _mean(values: Sequence[float]) -> float:
    known = [x for x in values if not math.isnan(x)]
    return statistics.fmean(known) if known else math.nan


def _percent(share: float) -> Cell:
    return UNKNOWN if math.isnan(share) else Cell(100 * share, 0)


def _notes(reports: Sequence[Report]) -> list[str]:
    hardware = ", ".join(dict.fromkeys(str(report["hardware"]) for report in reports if "hardware" in report))
    return [
        f"All live: in the last {Health.every} steps no expert starved, and none had run away; intervals are "
        "Wilson's, of 95 %. No warning: nor did it happen earlier. Rate: medians by expert, in nats. "
        "T|M: the share of items of T, generated from M, that are right, in percent; cross: the mean over different "
        "modalities.",
        *([f"On {hardware}."] if hardware else []),
    ]
