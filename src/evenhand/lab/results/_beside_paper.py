"""Runs beside the paper's rows: coherence with its ceiling, rates, bound, survival."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...common import check_choice
from ..judges import MultimodalScores
from . import _published as paper
from ._of_modalities import COHERENCE, OBJECTIVES, judges_of
from ._score_rows import Row, coherence_rows, rate_rows
from ._selection import DATA, MODELS, arm_label, multimodal_results
from ._survivors import deaths
from ._table import UNKNOWN, Cell, Table

Reports = Sequence[Mapping[str, Any]]

LETTERS = {"M": "mnist", "S": "svhn", "T": "text"}
PUBLISHED = {**COHERENCE, "siwae": paper.TABLE4}
SPEAKS = 0.5
"""An expert speaks if what it generates of its own modality shows the right class at least so often."""

EQUALLY_GOOD = 0.005
"""How far apart the accuracies of judges may be that rows of one table are judged by."""


def beside_the_paper(
    reports: Iterable[Mapping[str, Any]], *, experts: str = "mmvae", objective: str = "siwae"
) -> Table:
    """Self and cross coherence (%) of runs, above the paper's vanilla and impartial rows.

    The ceiling is how often the classifier of the modality that is generated is right about real test items. An
    expert is alive if it has at least a twentieth of an equal share of the weights at the end of training, and its
    posterior is within 1,000 nats of the prior. It speaks if what it generates of its own modality is right in half
    of the test rows. A mean over seeds in which an expert speaks and others in which it does not says little: where
    seeds differ, a second row has the means over those in which all that is given speaks.

    Args:
        reports: Of runs on MNIST-SVHN-Text that differ in f, in weights and in their seeds only.
        experts: Of which model.
        objective: "elbo", "iwae" or "siwae".
    """
    check_choice("experts", experts, MODELS)
    check_choice("objective", objective, PUBLISHED)
    model = MODELS[experts]
    reports = [r for r in reports if _is_meant(r, experts, objective)]
    results = multimodal_results(reports, objective, controls=True)
    theirs = [row for row in PUBLISHED[objective] if row["model"] == model]
    goal = next(row for row in theirs if row["method"] != "vanilla")
    columns = [name for name in goal if "|" in name]
    ours: list[Row] = []
    rows = zip(coherence_rows(results), rate_rows(results), results, strict=True) if results else ()
    for row, rates, (_, _, seeds) in rows:
        several = [r for r in reports if arm_label(r["config"]) == row["method"]]
        ours.append(row | _beside(row, rates, goal, columns, several, seeds))
        ours += _where_it_speaks(seeds, columns)
    lines = [*ours, *_ceilings(reports, columns), *({**row, "method": f"paper, {_label(row)}"} for row in theirs)]
    header = [*columns, "reached", "speak", "all live", "rate M, S, T", "joint", "bound", "steps", "seeds"]
    body = [[str(line["method"]), *(_mean(line.get(name, "")) for name in header)] for line in lines]
    note = (
        f"Means over seeds. Reached: columns at or above the paper's impartial row, of {len(columns)}. Speak: in how "
        f"many seeds M, S and T tell their own digit in at least {100 * SPEAKS:.0f} % of the test rows. All live: in "
        "how many every expert has weight, and a posterior that has not run away. Joint: how often all three show "
        "the same digit in samples of the prior."
    )
    return Table(f"Coherence (%), {model}, {OBJECTIVES[objective]}", [["", *header]], body, [note], n_labels=1)


def all_live(report: Mapping[str, Any]) -> bool:
    """Whether all experts of a run lived to its end."""
    shares, rates = (report["experts"][name][-1] for name in ("share", "rate"))
    return not any(map(any, deaths(shares, rates)))


def _beside(
    row: Row, rates: Row, goal: Row, columns: Sequence[str], reports: Reports, seeds: Sequence[MultimodalScores]
) -> Row:
    """What stands beside the coherence of an arm."""
    pairs = [(row.get(name, UNKNOWN), goal[name]) for name in columns]
    reached = sum(_number(a) >= _number(b) for a, b in pairs)
    known = [r for r in reports if r.get("experts", {}).get("share")]
    bounds = [r["bounds"]["test"] for r in reports if "bounds" in r]
    return {
        "reached": str(reached),
        "speak": ", ".join(str(sum(_speaks(s, name) for s in seeds)) for name in LETTERS.values()),
        "all live": f"{sum(map(all_live, known))} of {len(known)}",
        "rate M, S, T": ", ".join(f"{_number(rates[letter]):,.0f}" for letter in LETTERS),
        "joint": Cell(100 * statistics.fmean(s.joint_coherence for s in seeds), 2),
        "bound": f"{statistics.fmean(bounds):,.1f}" if bounds else "",
        "steps": ", ".join(sorted({f"{r['experts']['steps'][-1]:,}" for r in known})),
        "seeds": str(len(reports)),
    }


def _where_it_speaks(seeds: Sequence[MultimodalScores], columns: Sequence[str]) -> list[Row]:
    """The means over seeds in which all that is given speaks; no row where seeds agree about who does."""
    if all(sum(_speaks(scores, name) for scores in seeds) in (0, len(seeds)) for name in LETTERS.values()):
        return []
    row: Row = {"method": "where what is given speaks"}
    for title in columns:
        target, given = title.split("|")
        subset = tuple(LETTERS[letter] for letter in given)
        kept = [scores for scores in seeds if all(_speaks(scores, name) for name in subset)]
        values = [100 * scores.coherence[subset, LETTERS[target]] for scores in kept]
        row[title] = Cell(statistics.fmean(values), 2) if values else UNKNOWN
    return [row]


def _speaks(scores: MultimodalScores, name: str) -> bool:
    return scores.coherence[(name,), name] >= SPEAKS


def _ceilings(reports: Reports, columns: Sequence[str]) -> list[Row]:
    """What the judges reach on real items: the mean, where some were trained anew and are as good."""
    found = judges_of(reports)
    for name, shares in found.items():
        if max(shares) - min(shares) > EQUALLY_GOOD:
            low, high = 100 * min(shares), 100 * max(shares)
            raise ValueError(
                f"reports should be judged by equally good classifiers. Found {low:.1f} to {high:.1f} % for {name}."
            )
    means = {name[:1].upper(): statistics.fmean(shares) for name, shares in found.items()}
    cells: Row = {name: Cell(100 * means[name[0]], 2) for name in columns if name[0] in means}
    return [{"method": "ceiling", **cells}] if cells else []


def _is_meant(report: Mapping[str, Any], experts: str, objective: str) -> bool:
    config = report["config"]
    same = config["model"]["experts"] == experts and config["objective"]["name"] == objective
    return same and report["data"]["name"] == DATA


def _label(row: Row) -> str:
    return "vanilla" if row["method"] == "vanilla" else "impartial"


def _number(cell: str | Cell) -> float:
    return math.nan if isinstance(cell, str) else round(cell.value, 2)  # as many digits as the paper prints


def _mean(cell: str | Cell) -> str | Cell:
    return cell if isinstance(cell, str) else replace(cell, std=math.nan)
