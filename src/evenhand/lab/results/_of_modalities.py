"""The paper's tables of multimodal models, from reports alone, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...common import check_choice
from . import _published as paper
from ._score_rows import (
    BASELINE,
    Result,
    Row,
    as_table,
    coherence_rows,
    columns_of,
    latent_rows,
    log_likelihood_rows,
    reconstruction_rows,
    side_by_side,
)
from ._selection import DATA, MODELS, chosen_results, data_of
from ._statistics import ALPHA
from ._table import UNKNOWN, Table

Reports = Iterable[Mapping[str, Any]]

OBJECTIVES = {"elbo": "ELBO", "iwae": "IWAE", "siwae": "SIWAE"}
COHERENCE = {"elbo": paper.TABLE10, "iwae": paper.TABLE11, "siwae": paper.TABLE12}
LIKELIHOODS = {"elbo": paper.TABLE13, "iwae": paper.TABLE14, "siwae": paper.TABLE15}
NOTE = f"Means over seeds. Bold: better by a one-sided Student's t-test, alpha = {ALPHA:g}."

Rows = Callable[[Iterable[Result]], list[Row]]
"""What makes rows of results."""


def table3(reports: Reports, *, data: str = "", published: bool = True) -> Table:
    """Coherence given all modalities, trained with SIWAE.

    Args:
        reports: All that there are; of several methods the chosen one is shown.
        data: The name of the data; if empty, the paper's where reports are of these, else the first report's.
        published: Whether to write the paper's numbers below ours, where the data are the paper's.
    """
    runs = Runs(reports, data)
    rows = _rows(reconstruction_rows, _plain_and_impartial(runs, "siwae"))
    title = "Reconstruction coherence (%), SIWAE"
    return _coherence_table(title, rows, paper.TABLE3 if published else (), runs, ["siwae"])


def table4(reports: Reports, *, data: str = "", published: bool = True) -> Table:
    """Self and cross coherence, trained with SIWAE; for the arguments see `table3`."""
    runs = Runs(reports, data)
    rows = _rows(coherence_rows, _plain_and_impartial(runs, "siwae"))
    rows = [{name: cell for name, cell in row.items() if name != "hours"} for row in rows]
    title = "Self and cross coherence (%), SIWAE"
    return _coherence_table(title, rows, paper.TABLE4 if published else (), runs, ["siwae"])


def table5(reports: Reports, *, data: str = "", published: bool = True) -> Table:
    """Self and cross latent classification by objective; for the arguments see `table3`."""
    runs = Runs(reports, data)
    rows = _by_objective(latent_rows, runs)
    return _table("Latent classification (%)", rows, paper.TABLE5 if published else (), runs)


def table9(reports: Reports, *, data: str = "", published: bool = True) -> Table:
    """Coherence given all modalities by objective; for the arguments see `table3`."""
    runs = Runs(reports, data)
    rows = _by_objective(reconstruction_rows, runs)
    title = "Reconstruction coherence (%)"
    return _coherence_table(title, rows, paper.TABLE9 if published else (), runs, list(OBJECTIVES))


def coherence_by_objective(reports: Reports, objective: str, *, data: str = "", published: bool = True) -> Table:
    """Self and cross coherence, with methods, goals and hours: tables 10 (ELBO), 11 (IWAE) and 12 (SIWAE).

    Args:
        reports: As for `table3`.
        objective: "elbo", "iwae" or "siwae".
        data: As for `table3`.
        published: Whether to write the paper's numbers below ours.
    """
    check_choice("objective", objective, OBJECTIVES)
    runs = Runs(reports, data)
    rows = _rows(coherence_rows, runs.chosen(objective))
    title = f"Self and cross coherence (%), {OBJECTIVES[objective]}"
    return _coherence_table(title, rows, COHERENCE[objective] if published else (), runs, [objective])


def log_likelihoods(reports: Reports, objective: str, *, data: str = "", published: bool = True) -> Table:
    """Log-likelihoods per dimension by what is given: tables 13 (ELBO), 14 (IWAE) and 15 (SIWAE).

    Args:
        reports: As for `table3`.
        objective: "elbo", "iwae" or "siwae".
        data: As for `table3`.
        published: Whether to write the paper's numbers below ours.
    """
    check_choice("objective", objective, OBJECTIVES)
    runs = Runs(reports, data)
    rows = _rows(log_likelihood_rows, _plain_and_impartial(runs, objective))
    title = f"Log-likelihoods per dimension, summed over modalities, {OBJECTIVES[objective]}"
    return _table(title, rows, LIKELIHOODS[objective] if published else (), runs, std=True)


def judges_of(reports: Reports) -> dict[str, list[float]]:
    """By modality, how often the judge of every report is right about real test items."""
    found: dict[str, list[float]] = {}
    for report in reports:
        for name, share in report["scores"].get("classifiers", {}).items():
            found.setdefault(name, []).append(share)
    return found


# ---------------------------------------------------------------- inside


class Runs:
    """Reports of runs on one data set.

    Args:
        reports: All that there are.
        data: The name of the data; if empty, the paper's where reports are of these, else the first report's.
    """

    def __init__(self, reports: Reports, data: str = "") -> None:
        self.reports = list(reports)
        self.data = data or data_of(self.reports)

    def chosen(self, objective: str) -> list[Result]:
        """Plain training and the chosen method of every model."""
        return chosen_results(self.reports, objective, data=self.data)


def _plain_and_impartial(runs: Runs, objective: str) -> list[Result]:
    """Plain and impartial training by model, whatever the method is: so that objectives share a row."""
    results = runs.chosen(objective)
    models = [model for model, method, _ in results if method != BASELINE]
    if len(set(models)) < len(models):  # nothing to choose by: all methods are shown
        return results
    return [(model, method if method == BASELINE else "impartial", seeds) for model, method, seeds in results]


def _rows(table: Rows, results: Sequence[Result]) -> list[Row]:
    return table(results) if results else []


def _by_objective(table: Rows, runs: Runs) -> list[Row]:
    return side_by_side({t: _rows(table, _plain_and_impartial(runs, name)) for name, t in OBJECTIVES.items()})


def _coherence_table(
    title: str, rows: Sequence[Row], published: Sequence[Row], runs: Runs, objectives: Sequence[str]
) -> Table:
    """A table of coherence with its ceilings below it."""
    made = _table(title, rows, published, runs)
    return replace(made, notes=[*made.notes, *_ceilings(runs, objectives)])


def _ceilings(runs: Runs, objectives: Sequence[str]) -> list[str]:
    """A sentence that says how well the judges of our runs judge; none if no report knows."""
    several = [r for r in runs.reports if r["experiment"] == "multimodal" and r["data"]["name"] == runs.data]
    found = judges_of(r for r in several if r["config"]["objective"]["name"] in objectives)
    parts = [f"{name} {_from_to([100 * share for share in shares])}" for name, shares in found.items()]
    return (
        [f"Ceilings, how often our judges are right about real test items (%): {', '.join(parts)}."] if parts else []
    )


def _from_to(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def _table(title: str, rows: Sequence[Row], published: Sequence[Row], runs: Runs, *, std: bool = False) -> Table:
    """Model by model: our rows, then the paper's, where the data are the paper's."""
    theirs = published if runs.data == DATA else ()
    columns: Row = dict.fromkeys(
        columns_of(theirs), UNKNOWN
    )  # in the paper's order, also where ours are not there yet
    lines = []
    for model in MODELS.values():
        lines += [columns | row for row in rows if row["model"] == model]
        lines += [{**row, "method": _paper_label(str(row["method"]))} for row in theirs if row["model"] == model]
    return as_table(title, lines, notes=[NOTE], std=std)


def _paper_label(method: str) -> str:
    return f"paper, {'impartial' if method == 'ours' else method}"
