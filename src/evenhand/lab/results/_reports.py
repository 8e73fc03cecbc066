"""Reports read back: what tables and figures need to know of them, and which method is chosen."""
# ruff: noqa: RUF001  # signs as readers know them: ×

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...common import wanted_rate
from ...impartial import method_label, short_method_label
from ...tables.estimator import HARDLY
from ...tables.schema import Kind
from ._statistics import ALPHA, Alternative, corrected_paired_t_test

FORMAT = 1  # of report.json
OPPOSED = -0.05  # gradients with a lower cosine are in conflict; nearer to zero they are not
SLACK = 0.97  # rates as close as this are the same

Run = Mapping[str, Any]
"""An entry of a table report's "runs": one method, one KL weight, all seeds."""

_NEEDED = {
    "table": ("name", "config", "data", "seeds", "runs"),
    "panel": ("name", "config", "data", "seeds", "runs"),
    "multimodal": ("name", "config", "data", "scores"),
    "survival": ("name", "data", "experts", "runs"),
}

OF_COLUMNS = ("table", "panel")
"""Experiments whose reports have runs with errors of columns."""

# ---------------------------------------------------------------- reading


def read_reports(*places: str | Path) -> list[dict[str, Any]]:
    """All reports of finished runs, in the order of places and then of paths.

    Args:
        places: Report files, and folders. Of a folder, every ``report.json`` with a ``DONE`` beside it is read,
            however deep; and the other ``*.json`` files that lie in it directly, which have to be reports.
    """
    paths = dict.fromkeys(path.resolve() for place in places for path in _paths(Path(place)))
    return [_read(path) for path in paths]


def _paths(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise FileNotFoundError(f"places should be reports or folders of them. Found nothing at {place}.")
    finished = [path for path in place.rglob("report.json") if (path.parent / "DONE").is_file()]
    if any((place / name).is_file() for name in ("config.toml", "report.json")):  # the directory of a run
        return sorted(finished)
    return sorted([*finished, *place.glob("*.json")])


def _read(path: Path) -> dict[str, Any]:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} should be a report in JSON. Found a damaged file: {error}.") from error
    if not isinstance(report, dict) or report.get("experiment") not in _NEEDED:
        raise ValueError(f"{path} should be the report of an experiment. Found another JSON file; take it away.")
    if report.get("format") != FORMAT:
        found, version = report.get("format"), report.get("versions", {}).get("evenhand", "in another version")
        raise ValueError(
            f"{path} should be a report of format {FORMAT}. Found {found!r}, of evenhand {version}; read it with "
            "that version, or run the experiment again."
        )
    absent = [key for key in _NEEDED[report["experiment"]] if key not in report]
    if absent:
        raise ValueError(f"{path} should have the keys {', '.join(absent)}. Found none of them; is it whole?")
    return report


# ---------------------------------------------------------------- tables


class TableReport:
    """The report of an experiment on a table, or on a panel, and what tables and figures ask of it.

    Numbers that a report lacks (null) are NaN. Seeds without a finite number are left out of medians and means; but
    they count against a method where one is chosen, and what fails where plain training does not is not tested.

    Args:
        report: As `read_reports` gives it, with "experiment" = "table" or "panel".
    """

    def __init__(self, report: Mapping[str, Any]) -> None:
        if report.get("experiment") not in OF_COLUMNS:
            raise ValueError(f"report should be of a table or panel experiment. Found {report.get('experiment')!r}.")
        self.report = report
        self.name: str = report["name"]
        self.data: Mapping[str, Any] = report["data"]
        self.columns: list[str] = list(self.data["columns"])
        self.kinds: list[str] = list(self.data["kinds"])
        self.seeds: list[int] = list(report["seeds"])
        self.runs: list[Run] = list(report["runs"])
        for run in self.runs:
            if np.shape(run["error"]) != (len(self.seeds),):
                raise ValueError(
                    f"{self.name} should have an error for each of {len(self.seeds)} seeds. Found {run['error']!r} "
                    f"for {self.label(run)}."
                )

    @property
    def is_panel(self) -> bool:
        """Whether its rows belong to things over time."""
        return bool(self.report["experiment"] == "panel")

    @property
    def setting(self) -> str:
        """Model and objective as the paper writes them: "VAE-ELBO", "VAE-DReG", "HI-VAE"; or the estimator's name."""
        config = self.report["config"]
        if self.is_panel:
            return "LongitudinalVAE"
        model, objective = config["model"]["name"], config["objective"]["name"]
        if (model, objective) == ("hivae", "elbo"):
            return "HI-VAE"
        title = "DReG" if objective == "dreg" else objective.upper()
        return f"{'HI-VAE' if model == 'hivae' else model.upper()}-{title}"

    @cached_property
    def reference(self) -> float | str:
        """The KL weight at which methods are compared: 1, or the first rate that is held if only rates are."""
        weights = [run["kl_weight"] for run in self.runs]
        return weights[0] if weights and all(isinstance(weight, str) for weight in weights) else 1.0

    @cached_property
    def plain(self) -> Run:
        """Plain training at KL weight 1, or at the rate that all hold."""
        found = [run for run in self._sums if run["kl_weight"] == self.reference]
        if not found:
            raise ValueError(f"{self.name} should have a run of plain training ('sum') at KL weight 1. Found none.")
        return found[0]

    @property
    def _sums(self) -> list[Run]:
        return [run for run in self.runs if run["method"] == "sum" and run["restored"] and not weighted(run)]

    @property
    def curve(self) -> list[Run]:
        """Plain training at all its KL weights, the largest first; rates that are held are no part of it."""
        found = [run for run in self._sums if not isinstance(run["kl_weight"], str)]
        return sorted(found, key=lambda run: -run["kl_weight"])

    @cached_property
    def chosen(self) -> Run:
        """The impartial method with the lowest validation error."""
        run = self.best()
        if run is None:
            raise ValueError(f"{self.name} should have runs of impartial methods at KL weight 1. Found none.")
        return run

    def impartial(self, *, restored: bool = True) -> list[Run]:
        """All impartial methods at KL weight 1, or at the rate that all hold."""
        at = self.reference
        return [r for r in self.runs if r["method"] != "sum" and r["kl_weight"] == at and r["restored"] == restored]

    def weighted(self) -> list[Run]:
        """Plain training with weights of columns, at KL weight 1 or at the rate that all hold."""
        return [run for run in self.runs if weighted(run) and run["kl_weight"] == self.reference]

    def best(self, *, restored: bool = True) -> Run | None:
        """The impartial method with the lowest mean validation error over seeds, None if there is none.

        A method that fails in some seeds comes after all that fail in fewer.
        """

        return min(self.impartial(restored=restored), key=self.rank, default=None)

    def rank(self, run: Run) -> tuple[int, float]:
        """By which runs are chosen, the smallest first: seeds that failed, then the mean validation error."""
        return len(self.seeds) - len(_finite(self.values(run, "validation"))), self.mean(run, "validation")

    def label(self, run: Run) -> str:
        """What a run is called, such as "vanilla, KL x 0.3" or "GradNorm 1 >> PCGrad, not restored"."""
        parts = [method_label(run["method"]), *_weights_in_words(run, "x")]
        return ", ".join([*parts, *([] if run["restored"] else ["not restored"])])

    def short_label(self, run: Run) -> str:
        """The method of a run as the paper's table 7 writes it."""
        return short_method_label(run["method"])

    def values(self, run: Run, measure: str) -> NDArray[np.float64]:
        """A measure by seed, NaN where it is unknown."""
        found = run.get(measure)
        return np.full(len(self.seeds), math.nan) if found is None else np.array(found, float)

    def median(self, run: Run, measure: str) -> float:
        """The median of a measure over seeds."""
        known = _finite(self.values(run, measure))
        return float(np.median(known)) if len(known) else math.nan

    def mean(self, run: Run, measure: str) -> float:
        """The mean of a measure over seeds."""
        known = _finite(self.values(run, measure))
        return float(known.mean()) if len(known) else math.nan

    def std(self, run: Run, measure: str) -> float:
        """The standard deviation of a measure over seeds, NaN for fewer than two."""
        known = _finite(self.values(run, measure))
        return float(known.std(ddof=1)) if len(known) > 1 else math.nan

    def wins(self, run: Run) -> int:
        """In how many seeds a run has a lower error than plain training."""
        return int((self.values(run, "error") < self.values(self.plain, "error")).sum())

    def p_value(self, run: Run, measure: str = "error", *, alternative: Alternative = "less") -> float:
        """The corrected paired t-test that a run beats plain training, one-sided; NaN if there is no test."""
        ours, plain = self.values(run, measure), self.values(self.plain, measure)
        both = np.isfinite(ours) & np.isfinite(plain)
        if both.sum() < 2 or (np.isfinite(plain) & ~both).any():
            return math.nan
        differences = ours[both] - plain[both]
        ratio = self.data["test_rows"] / self.data["train_rows"]
        return corrected_paired_t_test(differences, ratio, alternative=alternative).pvalue

    def significant(self, run: Run) -> bool:
        """Whether the error of a run is lower than that of plain training, at the paper's level of 0.1."""
        return self.p_value(run) < ALPHA

    def by_kind(self, run: Run) -> dict[str, float]:
        """Median over seeds of the mean error of real, positive, count and nominal columns; those that are there."""
        errors = np.array(run["columns"], float)  # (S, D)
        groups = np.array(["nominal" if Kind(kind).nominal else kind for kind in self.kinds])
        found = {}
        for group in dict.fromkeys(groups.tolist()):
            means = [float(known.mean()) for row in errors[:, groups == group] if len(known := _finite(row))]
            found[group] = float(np.median(means)) if means else math.nan
        return found

    def points(self, measure: str) -> list[tuple[float, float, float]]:
        """Rate, measure and KL weight of plain training, by rate: medians over seeds, where both are known."""
        found = [(self.median(run, "rate"), self.median(run, measure), float(run["kl_weight"])) for run in self.curve]
        return sorted(point for point in found if np.isfinite(point).all())

    def at_rate(self, measure: str, rate: float) -> float:
        """A measure of plain training at a rate: its medians over KL weights, linear in between, level outside.

        With fewer than two KL weights there is no curve, and it is NaN.
        """
        points = self.points(measure)
        if len(points) < 2 or not math.isfinite(rate):
            return math.nan
        rates, values, _ = zip(*points, strict=True)
        return float(np.interp(rate, rates, values))

    def reaches(self, rate: float) -> bool | None:
        """Whether plain training comes to a rate, to 3 %, at a KL weight or between two; None if nobody knows.

        Where it does not, `at_rate` gives the nearest end of its curve.
        """
        rates = [point[0] for point in self.points("error")]
        if len(rates) < 2 or not math.isfinite(rate):
            return None
        return SLACK * rates[0] <= rate <= rates[-1] / SLACK

    def neglected(self, run: Run, measure: Literal["columns", "hidden_columns"] = "columns") -> list[str]:
        """The columns that a run knows no better than by their mean or mode (error above 0.98 of that).

        Args:
            run: The run.
            measure: Whether cells are reconstructed ("columns"), or guessed while they are hidden ("hidden_columns").
        """
        unknown = [math.nan] * len(self.columns)
        trivial = np.array(self.report.get("trivial", {}).get(measure) or unknown, float)
        errors = np.array(run.get(measure) or [unknown], float).T  # (D, S)
        medians = [float(np.median(known)) if len(known := _finite(row)) else math.nan for row in errors]
        pairs = zip(self.columns, medians, trivial, strict=True)
        return [name for name, error, guess in pairs if error > HARDLY * guess]


def run_label(run: Run) -> str:
    """What pages and figures call a run, where plain training is plain: "plain, KL × 0.3"."""
    parts = ["plain" if run["method"] == "sum" else method_label(run["method"])]
    parts += _weights_in_words(run, "×")
    return ", ".join([*parts, *([] if run["restored"] else ["not restored"])])


def weighted(run: Run) -> str:
    """What columns count in a run, in the words of its config; empty where all count the same."""
    return str(run.get("column_weights", ""))


def weight_text(run: Run, *, quoted: bool = False) -> str:
    """The KL weight of a run as users write it: "0.3", or "rate:8" (in quotes where it is code)."""
    weight = run["kl_weight"]
    return (repr(weight) if quoted else weight) if isinstance(weight, str) else f"{weight:g}"


def _weights_in_words(run: Run, times: str) -> list[str]:
    weight, kind, factor = run["kl_weight"], *weighted(run).partition(":")[::2]
    columns = [f"{kind} {times} {factor}" if factor else f"1 / {kind}"] if kind else []
    if isinstance(weight, str):
        return [*columns, f"{wanted_rate(weight):g} nats"]
    return [*columns, *([] if weight == 1 else [f"KL {times} {weight:g}"])]


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = values[np.isfinite(values)]
    return found
