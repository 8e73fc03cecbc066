"""Rivals that were held at one rate: tables of their reports, and who wins where."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ...common import misses, wanted_rate
from ._order import Reports, ordered, title_of
from ._relevant import holds_rates, one_of_each
from ._reports import Run, TableReport, read_reports
from ._table import UNKNOWN, Cell, Table

Arm = Literal["plain", "column weights", "Lipschitz", "Lipschitz, f", "f"]
CLOSE = 0.01  # errors that differ by less than this share are the same


class Entry(NamedTuple):
    """A way to train on one table, with the report that its numbers are in."""

    arm: Arm
    report: TableReport
    run: Run

    @property
    def label(self) -> str:
        """What stands in a table."""
        name = self.report.label(self.run).rpartition(",")[0]  # without the rate, which is that of all
        return f"{name}, Lipschitz" if self.arm.startswith("Lipschitz") else name

    def median(self, measure: str) -> float:
        """Over seeds."""
        return self.report.median(self.run, measure)

    @property
    def worst_column(self) -> tuple[str, float]:
        """The column with the largest median error over seeds, and that error."""
        errors = np.array(self.run["columns"], float)
        medians = np.array([np.median(x[np.isfinite(x)]) if np.isfinite(x).any() else np.nan for x in errors.T])
        if not np.isfinite(medians).any():
            return "-", float("nan")
        d = int(np.nanargmax(medians))
        return self.report.columns[d], float(medians[d])

    @property
    def on_target(self) -> int:
        """In how many seeds the rate of test rows is within 3 % of the target."""
        target = wanted_rate(self.run["kl_weight"]) or 1.0
        return sum(not misses(rate, target) for rate in self.report.values(self.run, "rate").tolist())


class Contest(NamedTuple):
    """All that was trained at one rate on one table; the weights of columns are those chosen on validation rows."""

    title: str
    rate: float
    entries: Sequence[Entry]

    def best(self, *arms: Arm) -> Entry | None:
        """The one with the lowest mean validation error among these arms."""
        found = [entry for entry in self.entries if entry.arm in arms]
        return min(found, key=lambda entry: entry.report.rank(entry.run), default=None)


def read_held(
    name: str, places: Sequence[Path], note: Callable[[str], None], *, experiment: str, any_network: bool
) -> list[dict[str, Any]]:
    """The reports of runs that hold a rate; the arguments are those of `read_experiments`."""
    found = [r for r in read_reports(*places) if r["experiment"] == experiment and holds_rates(r)]
    if not found:
        raise FileNotFoundError(
            f"There should be finished runs for {name} in {', '.join(map(str, places))}. Found none. To run them: "
            f"evenhand reproduce {name}"
        )
    return one_of_each(found, note)


def contests(reports: Reports) -> list[Contest]:
    """The reports of every table side by side, in the paper's order."""
    found: dict[tuple[str, float], list[Entry]] = {}
    for report in ordered(reports):
        rate = wanted_rate(report.reference)
        if rate is not None:
            found.setdefault((title_of(report), rate), []).extend(_entries(report))
    return [Contest(title, rate, sorted(e, key=_place)) for (title, rate), e in found.items()]


def _entries(report: TableReport) -> list[Entry]:
    if report.report["config"]["data"].get("preprocessing") == "lipschitz":
        best = report.best()
        rest = [] if best is None else [Entry("Lipschitz, f", report, best)]
        return [Entry("Lipschitz", report, report.plain), *rest]
    weights = min(report.weighted(), key=report.rank, default=None)
    middle = [] if weights is None else [Entry("column weights", report, weights)]
    methods = sorted(report.impartial(), key=report.rank)
    return [Entry("plain", report, report.plain), *middle, *(Entry("f", report, run) for run in methods)]


def _place(entry: Entry) -> int:
    return ("plain", "column weights", "Lipschitz", "Lipschitz, f", "f").index(entry.arm)


def equal_rate(reports: Reports, *, published: bool = True) -> Table:
    """Every rival on every table at one rate: mean error, worst column, log p and hidden cells.

    Args:
        reports: Of runs that hold a rate.
        published: Changes nothing: the paper has no such numbers.
    """
    rows: list[list[str | Cell]] = []
    breaks = []
    for contest in contests(reports):
        breaks.append(len(rows))
        lowest = _lowest(contest.entries)
        for i, entry in enumerate(contest.entries):
            plain = contest.entries[0].report if entry.arm != "plain" else None
            name, worst = entry.worst_column
            better = "" if plain is None else _wins(entry, contest.entries[0])
            error = entry.median("error")
            rows.append(
                [
                    f"{contest.title}, {contest.rate:g} nats" if not i else "",
                    entry.label,
                    Cell(entry.median("rate"), 1),
                    f"{entry.on_target}/{len(entry.report.seeds)}",
                    Cell(error, bold=error <= (1 + CLOSE) * lowest),
                    better,
                    Cell(worst),
                    name,
                    Cell(entry.median("log_likelihood"), 1),
                    Cell(entry.median("hidden")),
                ]
            )
    header = [["", "training", "rate", "within 3 %", "error", "better", "worst column", "", "log p", "hidden cells"]]
    notes = [
        "Medians over seeds, on test rows. Bold: the lowest error of the table, or within 1 % of it. Within 3 %: "
        "seeds whose rate is that close to the one that all hold. Better: seeds with a lower error than vanilla. "
        "Weights of columns are those with the lowest validation error of all that were tried."
    ]
    return Table("Rivals at one rate", header, rows, notes, 2, breaks)


def equal_rate_errors(reports: Reports, *, published: bool = True) -> Table:
    """The errors alone, a line for every table, and where f wins.

    Args:
        reports: Of runs that hold a rate.
        published: Changes nothing: the paper has no such numbers.
    """
    rows: list[list[str | Cell]] = []
    for contest in contests(reports):
        plain, weights = contest.best("plain"), contest.best("column weights")
        smooth, both, f = contest.best("Lipschitz"), contest.best("Lipschitz, f"), contest.best("f")
        shown = (plain, weights, smooth, both, f)
        lowest = _lowest([entry for entry in shown if entry is not None])
        cells = [
            UNKNOWN if e is None else Cell(e.median("error"), bold=e.median("error") <= (1 + CLOSE) * lowest)
            for e in shown
        ]
        rows.append([contest.title, Cell(contest.rate, 1), *cells, _verdict(f, weights), _label(f), _label(weights)])
    header = [
        ["", "rate", "vanilla", "column weights", "Lipschitz", "Lipschitz and f", "f", "f and weights", "which f",
         "which weights"]
    ]  # fmt: skip
    notes = [
        "Median test errors at one rate. f and weights of columns are those with the lowest validation error. Bold: "
        "the lowest, or within 1 % of it. f and weights: which of the two has the lower error, by more than 1 %."
    ]
    return Table("Errors at one rate", header, rows, notes, 1)


def _lowest(entries: Sequence[Entry]) -> float:
    """The lowest error of those that have one."""
    errors = [entry.median("error") for entry in entries]
    return min((error for error in errors if not math.isnan(error)), default=0.0)


def _wins(entry: Entry, plain: Entry) -> str:
    """In how many of the seeds that both have the error is lower."""
    ours, theirs = (dict(zip(e.report.seeds, e.report.values(e.run, "error"), strict=True)) for e in (entry, plain))
    pairs = [(error, theirs[seed]) for seed, error in ours.items() if seed in theirs]
    return f"{sum(bool(one < other) for one, other in pairs)}/{len(pairs)}" if pairs else ""


def _label(entry: Entry | None) -> str:
    return "-" if entry is None else entry.label.removeprefix("vanilla, ")


def _verdict(f: Entry | None, weights: Entry | None) -> str:
    if f is None or weights is None:
        return "-"
    ours, theirs = f.median("error"), weights.median("error")
    if abs(ours - theirs) <= CLOSE * min(ours, theirs):
        return "equal"
    return "f" if ours < theirs else "weights"
