"""What impartial training costs and what it is worth: controls, equal rates, overhead, and what one run came to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ._of_modalities import coherence_by_objective
from ._order import Reports, ordered, title_of
from ._published import OVERHEAD, TABLE1, Pair
from ._reports import OF_COLUMNS, Run, TableReport
from ._survivors import survival
from ._table import Cell, Table

# What stands beside the error: measure, title, digits.
MEASURES = (
    ("rate", "rate", 1),
    ("elbo", "ELBO", 1),
    ("log_likelihood", "log p", 1),
    ("hidden", "hidden cells", 3),
    ("quality", "quality", 3),
)


def controls(reports: Reports, *, published: bool = True) -> Table:
    """What a lower error costs: plain training at every KL weight, the chosen method, and the best unrestored one.

    Args:
        reports: Of any tables and models.
        published: Whether to write the paper's errors beside ours.
    """
    found = ordered(reports)
    measures = [m for m in MEASURES if m[0] != "quality" or any(_has_quality(report) for report in found)]
    rows: list[list[str | Cell]] = []
    breaks = []
    for report in found:
        breaks.append(len(rows))
        for run in _controlled(report):
            first = title_of(report) if len(rows) == breaks[-1] else ""
            known = _published_error(report, run)
            plain = run is report.plain
            better = "" if plain else f"{report.wins(run)}/{len(report.seeds)}"
            line: list[str | Cell] = [first, report.label(run), Cell(report.median(run, "error"))]
            line += ["" if known is None else Cell(known)] if published else []
            line += [better, "" if plain else _p(report.p_value(run))]
            rows.append([*line, *(Cell(report.median(run, name), digits) for name, _, digits in measures)])
    paper = ["paper"] if published else []
    header = [["", "training", "error", *paper, "better", "p", *(title for _, title, _ in measures)]]
    notes = [
        "Medians over seeds. Better: seeds with a lower error than vanilla; p: the corrected paired t-test of that. "
        "Rate, ELBO and log p (importance weighted) are nats per row."
    ]
    return Table("Reconstruction, and what it costs", header, rows, notes, 2, breaks)


def interpolated_rate(reports: Reports, *, published: bool = True) -> Table:
    """The chosen method beside plain training at the same rate, where KL weights let us know it.

    Args:
        reports: Of any tables and models.
        published: Changes nothing: the paper has no such numbers.
    """
    measures = (("error", "error", 3), ("log_likelihood", "log p", 1), ("hidden", "hidden cells", 3))
    rows: list[list[str | Cell]] = []
    for report in ordered(reports):
        run = report.best()
        if run is None:
            continue
        rate = report.median(run, "rate")
        reached = {True: "yes", False: "no", None: "-"}[report.reaches(rate)]
        line: list[str | Cell] = [title_of(report), report.label(run), Cell(rate, 1), reached]
        for name, _, digits in measures:
            line += [Cell(report.at_rate(name, rate), digits), Cell(report.median(run, name), digits)]
        rows.append(line)
    header = [
        ["", "", "", "", *(title for _, title, _ in measures for _ in range(2))],
        ["", "method", "rate", "reached", *["plain", "impartial"] * len(measures)],
    ]
    notes = [
        "Plain training over KL weights, interpolated at the rate of the impartial choice. Reached: whether it comes "
        "to that rate (within 3 %); if not, the nearest end of its curve stands here. One KL weight is no curve."
    ]
    return Table("At equal rate, interpolated", header, rows, notes, 2)


def overhead(reports: Reports, *, published: bool = True) -> Table:
    """What blocks cost in a step of training, beside the paper's inset.

    Args:
        reports: What ``benchmarks/mixture_overhead.py`` writes; the first one is shown.
        published: Whether to write the paper's hours beside our milliseconds.
    """
    report = next(iter(reports))
    paper = {" + ".join(goals) or "no blocks": (hours, blocks) for goals, hours, blocks in OVERHEAD}
    rows: list[list[str | Cell]] = []
    for name, entry in report["rows"].items():
        line: list[str | Cell] = [name, Cell(entry["ms"], 2), Cell(entry["ratio"], 2)]
        if published:
            hours, blocks = paper.get(name, (math.nan, "-"))
            line += [Cell(hours, 2), Cell(hours / OVERHEAD[0][1], 2), blocks]
        rows.append(line)
    header = [["Blocks", "ms a step", "ratio", *(["paper, hours", "ratio", "blocks"] if published else [])]]
    return Table(
        "Overhead of impartial training", header, rows, [f"On {report['hardware']}."] if "hardware" in report else []
    )


def reached(report: Mapping[str, Any]) -> Table:
    """What one run came to: the table of its report alone."""
    if report["experiment"] in OF_COLUMNS:
        return controls([report], published=False)
    if report["experiment"] == "survival":
        return survival([report])
    objective = report["config"]["objective"]["name"]
    return coherence_by_objective([report], objective, data=report["data"]["name"], published=False)


# ---------------------------------------------------------------- inside


def _controlled(report: TableReport) -> list[Run]:
    chosen = [report.best(), report.best(restored=False)]
    plain = report.curve or [report.plain]
    return [*plain, *report.weighted(), *(run for run in chosen if run is not None)]


def _has_quality(report: TableReport) -> bool:
    return any(not math.isnan(report.median(run, "quality")) for run in _controlled(report))


def _published_error(report: TableReport, run: Run) -> float | None:
    """The paper's number for plain training and for the chosen method; it has no others."""
    pair: Pair | None = TABLE1.get((report.data["name"], report.setting))
    if pair is None:
        return None
    if run is report.plain:
        return pair[0].value
    return pair[1].value if run is report.best() else None


def _p(p: float) -> str:
    return "-" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"
