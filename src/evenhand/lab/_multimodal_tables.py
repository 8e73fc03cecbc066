"""The paper's tables of multimodal models, from reports alone, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _published as paper
from ._score_tables import (
    ALPHA,
    BASELINE,
    Result,
    Row,
    coherence_table,
    latent_table,
    log_likelihood_table,
    reconstruction_table,
    side_by_side,
)
from ._selection import MODELS, chosen_results
from ._table import Table, from_rows

Reports = Iterable[Mapping[str, Any]]

DATA = "mnist_svhn_text"  # the paper's
OBJECTIVES = {"elbo": "ELBO", "iwae": "IWAE", "siwae": "SIWAE"}
COHERENCE = {"elbo": paper.TABLE10, "iwae": paper.TABLE11, "siwae": paper.TABLE12}
LIKELIHOODS = {"elbo": paper.TABLE13, "iwae": paper.TABLE14, "siwae": paper.TABLE15}
NOTE = f"Means over seeds. Bold: better by a one-sided Student's t-test, alpha = {ALPHA:g}."

Rows = Callable[[Iterable[Result]], list[Row]]
"""A table of `evenhand.lab`."""


def table3(reports: Reports, *, data: str = DATA, published: bool = True) -> Table:
    """Coherence given all modalities, trained with SIWAE.

    Args:
        reports: All that there are; of several methods the chosen one is shown.
        data: The name of the data.
        published: Whether to write the paper's numbers below ours, where the data are the paper's.
    """
    rows = _rows(reconstruction_table, _results(reports, "siwae", data))
    return _table("Reconstruction coherence (%), SIWAE", rows, paper.TABLE3, data, published)


def table4(reports: Reports, *, data: str = DATA, published: bool = True) -> Table:
    """Self and cross coherence, trained with SIWAE; for the arguments see `table3`."""
    rows = _rows(coherence_table, _results(reports, "siwae", data))
    rows = [{name: cell for name, cell in row.items() if name != "hours"} for row in rows]
    return _table("Self and cross coherence (%), SIWAE", rows, paper.TABLE4, data, published)


def table5(reports: Reports, *, data: str = DATA, published: bool = True) -> Table:
    """Self and cross latent classification by objective; for the arguments see `table3`."""
    rows = _by_objective(latent_table, reports, data)
    return _table("Latent classification (%)", rows, paper.TABLE5, data, published)


def table9(reports: Reports, *, data: str = DATA, published: bool = True) -> Table:
    """Coherence given all modalities by objective; for the arguments see `table3`."""
    rows = _by_objective(reconstruction_table, reports, data)
    return _table("Reconstruction coherence (%)", rows, paper.TABLE9, data, published)


def coherence_by_objective(reports: Reports, objective: str, *, data: str = DATA, published: bool = True) -> Table:
    """Self and cross coherence, with methods, goals and hours: tables 10 (ELBO), 11 (IWAE) and 12 (SIWAE).

    Args:
        reports: As for `table3`.
        objective: "elbo", "iwae" or "siwae".
        data: The name of the data.
        published: Whether to write the paper's numbers below ours.
    """
    rows = _rows(coherence_table, chosen_results(list(reports), _known(objective), data=data))
    title = f"Self and cross coherence (%), {OBJECTIVES[objective]}"
    return _table(title, rows, COHERENCE[objective], data, published)


def log_likelihoods(reports: Reports, objective: str, *, data: str = DATA, published: bool = True) -> Table:
    """Log-likelihoods per dimension by what is given: tables 13 (ELBO), 14 (IWAE) and 15 (SIWAE).

    Args:
        reports: As for `table3`.
        objective: "elbo", "iwae" or "siwae".
        data: The name of the data.
        published: Whether to write the paper's numbers below ours.
    """
    rows = _rows(log_likelihood_table, _results(reports, _known(objective), data))
    title = f"Log-likelihoods per dimension, summed over modalities, {OBJECTIVES[objective]}"
    return _table(title, rows, LIKELIHOODS[objective], data, published, std=True)


# ---------------------------------------------------------------- inside


def _known(objective: str) -> str:
    if objective not in OBJECTIVES:
        raise ValueError(f"objective should be one of {', '.join(OBJECTIVES)}. Found {objective!r}.")
    return objective


def _results(reports: Reports, objective: str, data: str) -> list[Result]:
    """Plain and impartial training by model, whatever the method is: so that objectives share a row."""
    results = chosen_results(list(reports), objective, data=data)
    models = [model for model, method, _ in results if method != BASELINE]
    if len(set(models)) < len(models):  # nothing to choose by: all methods are shown
        return results
    return [(model, method if method == BASELINE else "impartial", seeds) for model, method, seeds in results]


def _rows(table: Rows, results: Sequence[Result]) -> list[Row]:
    return table(results) if results else []


def _by_objective(table: Rows, reports: Reports, data: str) -> list[Row]:
    reports = list(reports)
    return side_by_side({title: _rows(table, _results(reports, name, data)) for name, title in OBJECTIVES.items()})


def _table(
    title: str, rows: Sequence[Row], published_rows: Sequence[Row], data: str, published: bool, *, std: bool = False
) -> Table:
    """Model by model: our rows, then the paper's."""
    theirs = published_rows if published and data == DATA else []
    lines = []
    for model in MODELS.values():
        lines += [row for row in rows if row["model"] == model]
        lines += [{**row, "method": _paper_label(str(row["method"]))} for row in theirs if row["model"] == model]
    return from_rows(title, lines, notes=[NOTE], std=std)


def _paper_label(method: str) -> str:
    return f"paper, {'impartial' if method == 'ours' else method}"
