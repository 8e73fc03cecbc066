"""What the paper's tables do not show, from the reports of table 1: for the page paper/table1/README.md.

python paper/summaries.py NAME       # costs, gain, kinds, gradients or methods
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.lab.results import (
    DATA,
    GROUPS,
    SETTINGS,
    Cell,
    Table,
    TableReport,
    ordered,
    read_reports,
    title_of,
)
from evenhand.tables import Kind

REPORTS = Path(__file__).parent / "table1" / "reports"
MAIN = "VAE-ELBO"  # the one setting with runs for every data set, KL weight and f with and without norm restoration


def costs(reports: Sequence[TableReport]) -> Table:
    """Seconds of training by data set and setting."""
    found = {(report.data["name"], report.setting): report for report in reports}
    rows: list[list[str | Cell]] = []
    for data, title in DATA.items():
        there = [found.get((data, setting)) for setting in SETTINGS]
        rows.append([title, *(Cell(np.nan if r is None else r.report["seconds"]["training"], 0) for r in there)])
    sums = [sum(r.report["seconds"]["training"] for r in reports if r.setting == setting) for setting in SETTINGS]
    rows.append(["those above", *(Cell(total, 0) for total in sums)])
    hardware = ", ".join(dict.fromkeys(r.report["hardware"] for r in reports))
    stacks = [f"{len(r.runs) * len(r.seeds)} of {r.setting}" for r in _first_of_each(reports)]
    notes = [
        f"On {hardware}. Runs in a stack: {', '.join(stacks)}. Several jobs shared the GPU: at least one of the "
        f"{len(reports)} ran during {wall([r.report for r in reports]):,.0f} s."
    ]
    return Table("Seconds of training, all runs of a stack", [["Data set", *SETTINGS]], rows, notes, 1, [len(DATA)])


def wall(reports: Sequence[dict[str, Any]]) -> float:
    """Seconds during which at least one of the jobs was trained or measured."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(map(_span, reports)):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _span(report: dict[str, Any]) -> tuple[float, float]:
    """When a job began and when it ended."""
    end = datetime.fromisoformat(report["finished"]).timestamp()
    return end - sum(report["seconds"].values()), end


def gain(reports: Sequence[TableReport]) -> Table:
    """Impartial training beside what a KL weight and what f alone would give."""
    rows: list[list[str | Cell]] = []
    for report in reports:
        run, other = report.chosen, report.best(restored=False)
        rate = report.median(run, "rate")
        plain = min(report.median(r, "error") for r in report.curve)
        values = [
            report.median(report.plain, "error"),
            report.at_rate("error", rate),
            plain,
            report.median(run, "error"),
            np.nan if other is None else report.median(other, "error"),
        ]
        rates = [report.median(r, "rate") for r in (report.plain, run)]
        rows.append([title_of(report), *(Cell(v) for v in values), *(Cell(r, 1) for r in rates)])
    header = [
        ["", "vanilla", "at equal rate", "best KL weight", "impartial", "not restored", "rate, vanilla", "impartial"]
    ]
    notes = [
        "Medians over seeds of test errors. At equal rate: vanilla over KL weights, at the rate of the impartial "
        "choice. Best KL weight: the lowest error of vanilla at any of its KL weights. Not restored: the best f "
        "without norm restoration."
    ]
    return Table("What a KL weight gives, and what f gives", header, rows, notes, 1)


def kinds(reports: Sequence[TableReport]) -> Table:
    """Errors by kind of column, plain and impartial."""
    rows: list[list[str | Cell]] = []
    for report in _of(reports, MAIN):
        plain, ours = report.by_kind(report.plain), report.by_kind(report.chosen)
        cells = [f"{plain[kind]:.3f} → {ours[kind]:.3f}" if kind in plain else "" for kind in GROUPS]
        rows.append([DATA[report.data["name"]], *cells])
    return Table(f"Errors by kind, vanilla → impartial, {MAIN}", [["", *GROUPS]], rows, ["Medians over seeds."], 1)


def gradients(reports: Sequence[TableReport]) -> Table:
    """How unequal the heads' gradients are in plain training, and what impartiality gains."""
    rows: list[list[str | Cell]] = []
    for report in _of(reports, MAIN):
        shares = np.array(report.report["conflicts"]["plain"]["shares"], float)  # (C, D)
        nominal = np.array([Kind(kind).nominal for kind in report.kinds])
        plain, ours = (report.median(run, "error") for run in (report.plain, report.chosen))
        numbers = [
            Cell(float(np.median(shares.max(1) / shares.min(1))), 0),
            Cell(float(np.median(shares[:, nominal].sum(1))) if nominal.any() else np.nan, 2),
            Cell(float(nominal.mean()) if nominal.any() else np.nan, 2),
            Cell(100 * (1 - ours / plain), 0),
        ]
        neglected = [str(len(report.neglected(run))) for run in (report.plain, report.chosen)]
        rows.append([DATA[report.data["name"]], *numbers, f"{' → '.join(neglected)} of {len(report.columns)}"])
    header = [["", "largest / smallest", "share of nominal gradients", "of columns", "gain, %", "neglected columns"]]
    notes = [
        "Norms of the heads' gradients in vanilla training, seed 0, median over the checks. Gain: of the median "
        "error. Neglected: no better than the mean or mode, vanilla → impartial."
    ]
    return Table(f"Gradients of the heads, {MAIN}", header, rows, notes, 1)


def methods(reports: Sequence[TableReport]) -> Table:
    """Every f over the data sets, with and without norm restoration."""
    found = _of(reports, MAIN)
    labels = dict.fromkeys(report.short_label(run) for report in found for run in report.impartial())
    rows: list[list[str | Cell]] = []
    for label in labels:
        chosen = sum(report.short_label(report.chosen) == label for report in found)
        rows.append([label, str(chosen), *_over_data(found, label, True), *_over_data(found, label, False)])
    rows.sort(key=lambda row: row[4].value if isinstance(row[4], Cell) else 0.0)
    measures = ["lower", "significantly", "ratio", "worst ratio"]
    header = [["", "", *["restored"] * 4, *["not restored"] * 4], ["f", "chosen", *measures, *measures]]
    notes = [
        f"Over {len(found)} data sets. Lower: how often the median error is below that of vanilla. Ratio: error by "
        "that of vanilla, geometric mean. GN, GD, PG and MGDA stand for GradNorm, GradDrop, PCGrad and MGDA-UB."
    ]
    return Table(f"Every f, {MAIN}", header, rows, notes, 1)


def _over_data(reports: Sequence[TableReport], label: str, restored: bool) -> list[str | Cell]:
    ratios, significant = [], 0
    for report in reports:
        (run,) = [r for r in report.impartial(restored=restored) if report.short_label(r) == label]
        ratios.append(report.median(run, "error") / report.median(report.plain, "error"))
        significant += report.significant(run)
    lower = sum(ratio < 1 for ratio in ratios)
    mean = float(np.exp(np.mean(np.log(ratios))))
    return [str(lower), str(significant), Cell(mean, 2), Cell(max(ratios), 2)]


def _of(reports: Sequence[TableReport], setting: str) -> list[TableReport]:
    return [report for report in reports if report.setting == setting]


def _first_of_each(reports: Sequence[TableReport]) -> list[TableReport]:
    found = [_of(reports, setting) for setting in SETTINGS]
    return [some[0] for some in found if some]


SUMMARIES: dict[str, Callable[[Sequence[TableReport]], Table]] = {
    f.__name__: f for f in (costs, gain, kinds, gradients, methods)
}


def summary(name: str) -> str:
    """A summary of that name in Markdown."""
    return SUMMARIES[name](ordered(read_reports(REPORTS))).to_markdown()


if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in SUMMARIES]:
        sys.exit(f"NAME should be one of {', '.join(SUMMARIES)}.")
    print(summary(sys.argv[1]))
