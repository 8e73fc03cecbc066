"""What a run on a table found, as documents of plain values: a comparison, and a diagnosis."""

from __future__ import annotations

import math
from typing import Any

from ..tables.families import FAMILIES
from .page import lead, taken
from .results import OPPOSED, Run, TableReport, column_pairs, medians

UNEVEN = 3.0  # times as much of the gradient as another column has


def compared(read: TableReport) -> dict[str, Any]:
    """Plain against impartial training: by column, the largest gain first, by kind, in words, and what to take.

    Args:
        read: The report of a run that `comparison` configured.
    """
    chosen = read.best()
    plain, impartial = read.by_kind(read.plain), {} if chosen is None else read.by_kind(chosen)
    found: dict[str, Any] = {
        "columns": _columns(read, chosen),
        "by_kind": [{"kind": k, "plain": x, "impartial": impartial.get(k, float("nan"))} for k, x in plain.items()],
        "plain": _measures(read, read.plain),
        "neglected": {"plain": read.neglected(read.plain)},
        "neglected_hidden": {"plain": read.neglected(read.plain, "hidden_columns")},
        "summary": [markup.striptags() for markup in lead(read, chosen)],
        "verdict": taken(read),
        "guesses_directly": read.is_panel or FAMILIES[read.report["config"]["model"]["name"]].guesses_directly,
    }
    if chosen is not None:
        found["impartial"] = {"method": chosen["method"], **_measures(read, chosen)}
        rate = found["impartial"]["rate"]
        reached = read.reaches(rate)
        found["plain"]["error_at_the_same_rate"] = read.at_rate("error", rate)  # NaN without a curve
        found["plain"]["beyond_the_curve"] = None if reached is None else not reached  # then its nearest end
        found["neglected"]["impartial"] = read.neglected(chosen)
        found["neglected_hidden"]["impartial"] = read.neglected(chosen, "hidden_columns")
    return found


def _measures(read: TableReport, run: Run) -> dict[str, Any]:
    return {measure: read.median(run, measure) for measure in ("error", "rate", "hidden", "log_likelihood")}


def _columns(read: TableReport, chosen: Run | None) -> list[dict[str, Any]]:
    kinds, n = dict(zip(read.columns, read.kinds, strict=True)), len(read.columns)
    hidden = {
        "hidden_trivial": medians([read.report.get("trivial", {}).get("hidden_columns") or [math.nan] * n], n),
        "hidden_plain": medians(read.plain.get("hidden_columns"), n),
        "hidden_impartial": medians(None if chosen is None else chosen.get("hidden_columns"), n),
    }
    place = {name: i for i, name in enumerate(read.columns)}
    return [
        {
            "column": pair.name,
            "kind": kinds[pair.name],
            "trivial": pair.trivial,
            "plain": pair.plain,
            "impartial": pair.impartial,
            "gain": pair.gain,
            **{name: float(errors[place[pair.name]]) for name, errors in hidden.items()},
        }
        for pair in column_pairs(read, chosen)
    ]


def diagnosed(read: TableReport) -> dict[str, Any]:
    """Where the gradients of columns conflict: shares, pairs, neglected columns, and a method to try.

    Args:
        read: The report of a run that `diagnosis` configured.
    """
    plain = read.report["conflicts"]["plain"]
    first, last = plain["shares"][0], plain["shares"][-1]
    cosines = plain["cosines"]
    # of a wide table, cosines of the columns in conflict only
    kept, n = read.report["conflicts"].get("columns") or range(len(read.columns)), len(read.columns)
    names = [read.columns[i] for i in kept]
    pairs = [(cosines[i][j], names[i], names[j]) for i in range(len(names)) for j in range(i)]
    opposed = sorted(pair for pair in pairs if pair[0] is not None and pair[0] < OPPOSED)
    # first and last, since a column may be starved by the end only because it is learnt by then
    most = [max(x or 0.0, y or 0.0) for x, y in zip(first, last, strict=True)]
    uneven = max(most) > UNEVEN * min(most)
    return {
        "columns": [
            {"column": name, "kind": kind, "share_first": x, "share_last": y}
            for name, kind, x, y in zip(read.columns, read.kinds, first, last, strict=True)
        ],
        "pairs": [{"cosine": c, "columns": [b, a]} for c, a, b in opposed],
        "n_opposed": plain.get("n_opposed", len(opposed)),
        "n_pairs": n * (n - 1) // 2,
        "below": OPPOSED,
        "neglected": read.neglected(read.plain),
        "uneven": uneven,
        "method": _advice(uneven, bool(opposed)),
    }


def _advice(uneven: bool, opposed: bool) -> str:
    """A method for norms that differ, for directions that do, or for both."""
    if uneven:
        return "imtlg>>pcgrad" if opposed else "imtlg"
    return "pcgrad" if opposed else "sum"
