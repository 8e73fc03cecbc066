"""What a run on a table found, as documents of plain values: a comparison, and a diagnosis."""

from __future__ import annotations

from typing import Any

from .page import lead
from .results import OPPOSED, Run, TableReport, column_pairs

UNEVEN = 3.0  # times as much of the gradient as another column has


def compared(read: TableReport) -> dict[str, Any]:
    """Plain against impartial training: by column, the largest gain first, by kind, and in words.

    Args:
        read: The report of a run that `comparison` configured.
    """
    chosen = read.best()
    plain, impartial = read.by_kind(read.plain), {} if chosen is None else read.by_kind(chosen)
    found: dict[str, Any] = {
        "columns": _columns(read, chosen),
        "by_kind": [{"kind": k, "plain": x, "impartial": impartial.get(k, float("nan"))} for k, x in plain.items()],
        "plain": {"error": read.median(read.plain, "error"), "rate": read.median(read.plain, "rate")},
        "neglected": {"plain": read.neglected(read.plain)},
        "summary": [markup.striptags() for markup in lead(read, chosen)],
    }
    if chosen is not None:
        rate = read.median(chosen, "rate")
        found["impartial"] = {"method": chosen["method"], "error": read.median(chosen, "error"), "rate": rate}
        reached = read.reaches(rate)
        found["plain"]["error_at_the_same_rate"] = read.at_rate("error", rate)  # NaN without a curve
        found["plain"]["beyond_the_curve"] = None if reached is None else not reached  # then its nearest end
        found["neglected"]["impartial"] = read.neglected(chosen)
    return found


def _columns(read: TableReport, chosen: Run | None) -> list[dict[str, Any]]:
    kinds = dict(zip(read.columns, read.kinds, strict=True))
    return [
        {
            "column": pair.name,
            "kind": kinds[pair.name],
            "trivial": pair.trivial,
            "plain": pair.plain,
            "impartial": pair.impartial,
            "gain": pair.gain,
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
    n = len(read.columns)
    pairs = [(cosines[i][j], read.columns[i], read.columns[j]) for i in range(n) for j in range(i)]
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
        "n_pairs": len(pairs),
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
