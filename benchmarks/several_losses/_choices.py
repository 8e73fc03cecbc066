"""Choices made on validation images, and differences between contenders by seed; needs nothing but the results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Run = Mapping[str, Any]
Criterion = Callable[[Sequence[float]], float]  # of all that was measured of one seed
# Student's t, 97.5 %, by the number of seeds
STUDENT = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}


class Choice(NamedTuple):
    """A contender with its learning rate, and all that was measured of its seeds on test images."""

    name: str
    lr: float
    test: list[list[float]]  # [seed][measure]

    def mean(self, criterion: Criterion) -> float:
        return statistics.fmean(map(criterion, self.test))

    def spread(self, criterion: Criterion) -> float:
        """The standard deviation over seeds."""
        return statistics.stdev(map(criterion, self.test))


def chosen(runs: Sequence[Run], names: Iterable[str], criterion: Criterion) -> Choice:
    """The best of some contenders and all learning rates, on validation images."""

    def value(run: Run, name: str) -> float:
        return statistics.fmean(map(criterion, run["contenders"][name]["validation"]))

    run, name = max(((run, name) for name in names for run in runs), key=lambda pair: value(*pair))
    return Choice(name, run["lr"], run["contenders"][name]["test"])


class Difference(NamedTuple):
    """Of two contenders on the same seeds: the mean, and half of its 95 % interval."""

    mean: float
    margin: float

    @property
    def is_clear(self) -> bool:
        return abs(self.mean) > self.margin

    def __str__(self) -> str:
        return f"{100 * self.mean:+.2f} ± {100 * self.margin:.2f}"


def difference(one: Choice, other: Choice, criterion: Criterion) -> Difference:
    """How much better one is, seed by seed."""
    gains = [criterion(a) - criterion(b) for a, b in zip(one.test, other.test, strict=True)]
    if len(gains) not in STUDENT:
        raise ValueError(f"There should be 2 to {max(STUDENT)} seeds. Found {len(gains)}.")
    return Difference(statistics.fmean(gains), STUDENT[len(gains)] * statistics.stdev(gains) / math.sqrt(len(gains)))


def verdict(differences: Mapping[str, Difference], rival: str) -> str:
    """In words: who is better or worse than the rival beyond the spread of seeds."""
    clear = {name: d.mean for name, d in differences.items() if d.is_clear}
    better, worse = [n for n in clear if clear[n] > 0], [n for n in clear if clear[n] < 0]
    parts = [f"better than {rival} beyond the spread of seeds: {', '.join(better) or 'none'}"]
    parts.append(f"worse: {', '.join(worse) or 'none'}")
    return f"Of {len(differences)}, " + "; ".join(parts) + "."


def percent(value: float) -> str:
    return f"{100 * value:.2f}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def by_data(report: Mapping[str, Any]) -> dict[str, list[Run]]:
    """The runs of a report, by data set, in their order."""
    found: dict[str, list[Run]] = {}
    for run in report["runs"]:
        found.setdefault(run["data"], []).append(run)
    return found


def footnote(runs: Sequence[Run]) -> str:
    """What was run."""
    first, rates = runs[0], ", ".join(f"{run['lr']:g}" for run in sorted(runs, key=lambda run: run["lr"]))
    seconds = sum(run["seconds"] for run in runs)
    return (
        f"{first['rows']['train']:,} images, {first['epochs']} epochs, {first['seeds']} seeds, learning rates "
        f"{rates}, {first['device']}, torch {first['torch']}; {seconds:.0f} s for everything in this table."
    )
