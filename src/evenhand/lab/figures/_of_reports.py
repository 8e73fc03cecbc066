"""The figures that stand beside the tables, from reports, as SVG text; the same reports give the same text."""
# ruff: noqa: RUF001  # signs as readers know them: ×

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from ...common import wanted_rate
from ...tables.schema import Kind, Schema
from ..results import (
    MODELS,
    OBJECTIVES,
    Run,
    TableReport,
    chosen_results,
    column_pairs,
    contests,
    data_of,
    ordered,
    run_label,
    title_of,
    weighted,
)
from ._frontier import Rival, frontier
from ._pair_plot import pair_plot
from ._parallel import parallel_coordinates
from ._rate_control import Held, held_chart
from ._rate_distortion import Point, rate_distortion
from ._svg import element, file, text, text_width

Reports = Sequence[Mapping[str, Any]]

PANEL = 343.0  # pixels, the width of a panel
GAP, TITLE = 24.0, 30.0
PANELS_IN_A_ROW = 4
MOST_PAIRED = 4  # columns in a pair plot


def rate_distortions(reports: Iterable[Mapping[str, Any]], *, folders: Sequence[Path] = ()) -> dict[str, str]:
    """Reconstruction error over rate: plain training over KL weights, every impartial method, and the chosen one.

    Args:
        reports: Of table experiments; a panel for each.
        folders: Are not needed.
    """
    found = ordered(reports)
    if not found:
        raise ValueError("reports should have at least one of a table experiment. Found none.")
    charts = {title_of(report): rate_chart(report, width=PANEL) for report in found}
    parts, width, height = _side_by_side(charts, 340)
    label = f"Error over rate of {', '.join(map(title_of, found))}."
    return {"all": file(width, height + 24, label, *parts, _legend(found, height + 8), role="group")}


def _side_by_side(charts: Mapping[str, Markup], tall: float) -> tuple[list[Markup], float, float]:
    """Panels with their titles, and the width and height that they take."""
    wide, tall = min(PANELS_IN_A_ROW, len(charts)), TITLE + tall + GAP
    parts = []
    for i, (name, chart) in enumerate(charts.items()):
        left, top = (i % wide) * (PANEL + GAP), (i // wide) * tall
        moved = element("g", chart, transform=f"translate(0 {TITLE:g})")
        parts.append(element("g", text(44, 16, name, "title"), moved, transform=f"translate({left:g} {top:g})"))
    return parts, wide * (PANEL + GAP) - GAP, -(-len(charts) // wide) * tall


def rate_chart(report: TableReport, *, width: float) -> Markup:
    """The chart of error over rate of one report."""
    chosen = report.best()
    curve, others = rate_points(report, chosen)
    label = f"Mean error against rate: plain training at {len(curve)} KL weights, and {len(others)} more runs."
    beat = math.nan if chosen is None else report.at_rate("error", report.median(chosen, "rate"))
    return rate_distortion(curve, others, label, beat=beat, width=width, logarithmic=True)


def rate_points(report: TableReport, chosen: Run | None) -> tuple[list[Point], list[Point]]:
    """Plain training over KL weights; and all other runs, the chosen one last."""

    def point(run: Run, class_: str, mark: str = "") -> Point:
        return Point(run_label(run), report.median(run, "rate"), report.median(run, "error"), class_, mark)

    curve = [point(run, "curve", f"{'' if i else 'KL '}× {run['kl_weight']:g}") for i, run in enumerate(report.curve)]
    others = [
        point(run, "other" if run["restored"] else "other unrestored")
        for run in report.runs
        if run["method"] != "sum" and run is not chosen
    ]
    return curve, [*others, *([] if chosen is None else [point(chosen, "chosen", run_label(chosen))])]


def _legend(reports: Sequence[TableReport], y: float) -> Markup:
    """What the signs mean; of those that are there."""
    square = element("rect", x=1, y=-4, width=8, height=8, class_="fill plain")
    entries = [("plain, KL weights", square)]
    for class_, label, there in (
        ("other", "impartial, each f", any(r.impartial() for r in reports)),
        ("unrestored", "without norm restoration", any(r.impartial(restored=False) for r in reports)),
        ("chosen", "chosen by validation", any(r.best() for r in reports)),
    ):
        circle = element("circle", cx=5, cy=0, r=5, class_="shape")
        entries += [(label, element("g", circle, class_=f"point {class_}"))] if there else []
    parts, at = [], 44.0
    for label, sign in entries:
        parts.append(element("g", sign, text(16, 4, label, "name"), transform=f"translate({at:g} {y:g})"))
        at += 44 + text_width(label)
    return element("g", *parts)


def frontiers(reports: Iterable[Mapping[str, Any]], *, folders: Sequence[Path] = ()) -> dict[str, str]:
    """Errors of numbers against those of categories at one rate, for every table that has both.

    Args:
        reports: Of runs that hold a rate; those of one table share a panel.
        folders: Are not needed.
    """
    charts = {}
    for contest in contests(reports):
        found = [r for entry in contest.entries[:1] for r in _weighted_sums(entry.report)]
        if not found or not math.isfinite(found[0].numbers + found[0].categories):
            continue
        chosen = contest.best("f")
        others = [e for e in contest.entries if e.arm not in ("plain", "column weights") and e is not chosen]
        points = [*((e, "other unrestored" if e.arm.startswith("Lip") else "other") for e in others)]
        points += [] if chosen is None else [(chosen, "chosen")]
        found += [Rival(e.label, *_both_errors(e.report, e.run), class_) for e, class_ in points]
        label = f"Errors of numbers and of categories on {contest.title} at {contest.rate:g} nats."
        charts[f"{contest.title}, {contest.rate:g} nats"] = frontier(found, label, width=PANEL)
    if not charts:
        raise ValueError("reports should have one of a table with numbers and categories. Found none.")
    parts, width, height = _side_by_side(charts, 300)
    return {"all": file(width, height, f"Frontiers of {', '.join(charts)}.", *parts, role="group")}


def _weighted_sums(report: TableReport) -> list[Rival]:
    """Plain training and weights of columns by kind, on one line; other weights beside it."""
    plain = Rival("plain", *_both_errors(report, report.plain), "curve")
    found = [plain]
    for run in sorted(report.weighted(), key=lambda run: float(weighted(run).partition(":")[2] or 0)):
        class_ = "curve" if ":" in weighted(run) else "weights"
        found.append(Rival(weighted(run).replace(":", " × "), *_both_errors(report, run), class_))
    return found


def _both_errors(report: TableReport, run: Run) -> tuple[float, float]:
    """Mean errors of numbers and of categories: medians over seeds."""
    errors = np.array(run["columns"], float)
    nominal = np.array([Kind(kind).nominal for kind in report.kinds])
    means = [errors[:, columns].mean(1) if columns.any() else np.full(len(errors), np.nan)
             for columns in (~nominal, nominal)]  # fmt: skip
    known = [x[np.isfinite(x)] for x in means]
    numbers, categories = (float(np.median(x)) if len(x) else math.nan for x in known)
    return numbers, categories


def rate_controls(reports: Iterable[Mapping[str, Any]], *, folders: Sequence[Path] = ()) -> dict[str, str]:
    """How rates settled on every table: medians over seeds of rates on validation rows, and of KL weights.

    Args:
        reports: Of runs that hold a rate; a panel for each.
        folders: Are not needed.
    """
    charts, rows = {}, 0
    for report in ordered(reports):
        target, runs = wanted_rate(report.reference), [run for run in report.runs if "held" in run]
        if target is None:
            continue
        curves = [_held(report, run) for run in runs]
        rows = max(rows, len(curves))
        smooth = report.report["config"]["data"].get("preprocessing")
        title = f"{title_of(report)}{', Lipschitz' if smooth else ''}, {target:g} nats"
        charts[title] = held_chart(curves, target, f"Rates and KL weights over training on {title}.", width=PANEL)
    if not charts:
        raise ValueError("reports should have at least one of runs that hold a rate. Found none.")
    parts, width, height = _side_by_side(charts, 350 + 16 * rows)
    return {"all": file(width, height, f"Rates over training of {', '.join(charts)}.", *parts, role="group")}


def _held(report: TableReport, run: Run) -> Held:
    held = run["held"]
    rates, weights = ([math.nan if x[1] is None else x[1] for x in held[name]] for name in ("rate", "kl_weight"))
    return Held(run_label(run).rpartition(",")[0], held["steps"], rates, weights)


def parallels(reports: Reports, *, folders: Sequence[Path] = ()) -> dict[str, str]:
    """Scores by objective, plain and impartial, of every model that there is: the paper's figure 5.

    Args:
        reports: Of multimodal experiments.
        folders: Are not needed.
    """
    data = data_of(reports)
    there = {report["config"]["model"]["experts"] for report in reports}
    return {name: parallel(reports, title, data=data) for name, title in MODELS.items() if name in there}


def parallel(reports: Reports, model: str, *, data: str) -> str:
    """Scores of a model by objective, plain and impartial.

    Args:
        reports: Of multimodal experiments.
        model: "MVAE", "MMVAE" or "MoPoE".
        data: The name of the data.
    """
    results = [
        (title, method, seeds)
        for name, title in OBJECTIVES.items()
        for found, method, seeds in chosen_results(reports, name, data=data)
        if found == model
    ]
    if not results:
        raise ValueError(f"reports should have at least one of {model} on {data}. Found none.")
    return parallel_coordinates(results)


def pair_plots(reports: Reports, *, folders: Sequence[Path] = ()) -> dict[str, str]:
    """Pair plots of the columns that gain most, for every run that generated rows: the paper's figure 4.

    Args:
        reports: Are not needed: those of the folders are read.
        folders: The directories of runs.
    """
    found = {folder.name: _pair_plot(folder) for folder in folders if (folder / "samples.npz").is_file()}
    if not found:
        raise ValueError(
            "figure4 should have runs that generated rows. Found none: run one with evaluation.generate=1000, or "
            "`evenhand compare DATA`."
        )
    return found


def _pair_plot(folder: Path) -> str:
    report = TableReport(json.loads((folder / "report.json").read_text(encoding="utf-8")))
    with np.load(folder / "samples.npz", allow_pickle=False) as arrays:
        rows = {label: arrays[label] for label in ("real", *report.report["generated"]["labels"])}
    columns = [pair.name for pair in column_pairs(report, report.best())][:MOST_PAIRED]
    return pair_plot(rows.pop("real"), rows, Schema.from_toml(report.report["schema"]), columns)
