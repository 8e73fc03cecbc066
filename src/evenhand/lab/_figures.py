"""The figures that stand beside the tables, as SVG; the same reports give the same text."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tables.schema import Schema
from ._multimodal_figures import _figure_class, parallel_coordinates
from ._multimodal_tables import OBJECTIVES
from ._page_answer import column_pairs
from ._pairplot import pair_plot
from ._results import Run, TableReport
from ._selection import MODELS, chosen_results, data_of
from ._tables import ordered, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS_IN_A_ROW = 4


def rate_distortion(reports: Iterable[Mapping[str, Any]]) -> str:
    """Reconstruction error over rate: plain training over KL weights, every impartial method, and the chosen one.

    Args:
        reports: Of table experiments; a panel for each.
    """
    found = ordered(reports)
    if not found:
        raise ValueError("reports should have at least one of a table experiment. Found none.")
    wide = min(PANELS_IN_A_ROW, len(found))
    high = -(-len(found) // wide)
    figure = _figure_class("rate_distortion")(figsize=(3.25 * wide, 3.4 * high), layout="constrained")
    axes = figure.subplots(high, wide, squeeze=False)
    for axis, report in zip(axes.ravel(), found, strict=False):
        _panel(axis, report)
    for axis in axes.ravel()[len(found) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel("reconstruction error")
    handles = {
        label: line for axis in axes.ravel() for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=8)
    return _svg(figure)


def parallel(reports: Iterable[Mapping[str, Any]], model: str, *, data: str = "mnist_svhn_text") -> str:
    """Scores of a model by objective, plain and impartial: the paper's figure of parallel coordinates.

    Args:
        reports: Of multimodal experiments.
        model: "MVAE", "MMVAE" or "MoPoE".
        data: The name of the data.
    """
    reports = list(reports)
    results = [
        (title, method, seeds)
        for name, title in OBJECTIVES.items()
        for found, method, seeds in chosen_results(reports, name, data=data)
        if found == model
    ]
    if not results:
        raise ValueError(f"reports should have at least one of {model} on {data}. Found none.")
    return _svg(parallel_coordinates(results))


# ---------------------------------------------------------------- for the catalogue


def rate_distortions(reports: Sequence[Mapping[str, Any]], *, folders: Sequence[Path] = ()) -> dict[str, str]:
    """`rate_distortion` of all reports."""
    return {"all": rate_distortion(reports)}


def parallels(reports: Sequence[Mapping[str, Any]], *, folders: Sequence[Path] = ()) -> dict[str, str]:
    """`parallel` of every model that there is."""
    data = data_of(reports)
    there = {report["config"]["model"]["experts"] for report in reports}
    return {name: parallel(reports, title, data=data) for name, title in MODELS.items() if name in there}


def pair_plots(reports: Sequence[Mapping[str, Any]], *, folders: Sequence[Path] = ()) -> dict[str, str]:
    """Pair plots of the four columns that gain most, for every run that generated rows."""
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
    columns = [pair.name for pair in column_pairs(report, report.best())][:4]
    return pair_plot(rows.pop("real"), rows, Schema.from_toml(report.report["schema"]), columns)


# ---------------------------------------------------------------- inside


def _panel(axis: Axes, report: TableReport) -> None:
    from matplotlib.ticker import LogLocator

    plain = _points(report, report.curve)
    axis.plot(*plain.T, "o-", color="C0", label="plain, KL weights")
    for run, point in zip(report.curve, plain, strict=True):
        axis.annotate(f"{run['kl_weight']:g}", point, (3, 4), textcoords="offset points", fontsize=7)
    for restored, marker, color, label in (
        (True, "^", "C1", "impartial, each f"),
        (False, "x", "C2", "without norm restoration"),
    ):
        points = _points(report, report.impartial(restored=restored))
        if len(points):
            axis.plot(*points.T, marker, color=color, alpha=0.7, label=label)
    chosen = report.best()
    if chosen is not None:
        axis.plot(*_points(report, [chosen]).T, "*", color="C3", markersize=12, label="chosen by validation")
    axis.set(title=title_of(report), xlabel="rate, nats")
    axis.set_xlim(left=0)
    axis.set_yscale("log")
    axis.yaxis.set_minor_locator(LogLocator(subs=(1.5, 2, 3, 5, 7)))
    axis.yaxis.set_major_formatter("{x:g}")  # 0.2, not 2 x 10^-1
    axis.yaxis.set_minor_formatter("{x:g}")


def _points(report: TableReport, runs: Sequence[Run]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rate and error of runs, ``[n, 2]``."""
    return np.array([[report.median(run, "rate"), report.median(run, "error")] for run in runs]).reshape(-1, 2)


def _svg(figure: Figure) -> str:
    import matplotlib

    file = io.StringIO()
    # names inside the file and its date would differ from one time to the next; fonts would differ between machines
    with matplotlib.rc_context({"svg.hashsalt": "evenhand", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
