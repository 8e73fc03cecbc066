"""`evenhand diagnose`: where the gradients of a table's columns conflict."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._arguments import DataArgument, Device, Force, Out, SchemaOption, check_device
from ._compare import Steps, prepare, train
from ._console import Console, number

if TYPE_CHECKING:
    from ..lab import TableReport

QUICK = ("runs.kl_weights=[1.0]", "evaluation.generate=0", "evaluation.n_samples=5")
UNEVEN = 3.0  # times as much of the gradient as another column has
MOST_PAIRS = 10


def diagnose(
    ctx: typer.Context,
    data: DataArgument,
    steps: Steps = 1000,
    schema: SchemaOption = None,
    out: Out = Path("runs"),
    force: Force = False,
    device: Device = "auto",
) -> None:
    """Say where the gradients of a table's columns conflict.

    Trains plainly for a short while. Prints every column's share of the gradient where the heads of the decoder
    meet, at the start and at the end of training; the pairs of columns that pull in opposite directions; the columns
    that are not learnt; and a method to try.

    \b
    Example:
      evenhand diagnose data.csv
    """
    console: Console = ctx.obj
    check_device(device)
    options = {"n_seeds": 1, "methods": ("sum",), "steps": steps}
    config = prepare(console, data, schema, list(QUICK), options)
    folder = train(console, config, out, force=force, device=device)
    from ..lab import TableReport

    found = conflicts(TableReport(folder.report()))
    _show(console, found, data)
    console.result({"folder": str(folder.path), **found})


def conflicts(read: TableReport) -> dict[str, Any]:
    """Shares, pairs, neglected columns and advice, from a report."""
    from ..lab import OPPOSED

    plain = read.report["conflicts"]["plain"]
    first, last = plain["shares"][0], plain["shares"][-1]
    cosines = plain["cosines"]
    n = len(read.columns)
    pairs = [(cosines[i][j], read.columns[i], read.columns[j]) for i in range(n) for j in range(i)]
    negative = sorted(pair for pair in pairs if pair[0] is not None and pair[0] < OPPOSED)
    # first and last, since a column may be starved by the end only because it is learnt by then
    even = [max(x or 0.0, y or 0.0) for x, y in zip(first, last, strict=True)]
    uneven = max(even) > UNEVEN * min(even)
    return {
        "columns": [
            {"column": name, "kind": kind, "share_first": x, "share_last": y}
            for name, kind, x, y in zip(read.columns, read.kinds, first, last, strict=True)
        ],
        "pairs": [{"cosine": c, "columns": [b, a]} for c, a, b in negative],
        "n_pairs": len(pairs),
        "below": OPPOSED,
        "neglected": read.neglected(read.plain),
        "uneven": uneven,
        "method": _advice(uneven, bool(negative)),
    }


def _advice(uneven: bool, opposed: bool) -> str:
    """A method for norms that differ, for directions that do, or for both."""
    if uneven:
        return "imtlg>>pcgrad" if opposed else "imtlg"
    return "pcgrad" if opposed else "sum"


def _show(console: Console, found: dict[str, Any], data: str) -> None:
    console.heading("Shares of the gradient where the heads meet")
    ordered = sorted(found["columns"], key=lambda c: -(c["share_last"] or 0.0))
    rows = [(c["column"], c["kind"], _percent(c["share_first"]), _percent(c["share_last"])) for c in ordered]
    console.table(("column", "kind", "first", "last"), rows, (2, 3))
    console.say(f"An even share would be {1 / len(ordered):.1%}.")
    pairs = found["pairs"][:MOST_PAIRS]
    console.heading("Columns that pull in opposite directions")
    if pairs:
        console.table(("column", "against", "cosine"), [(*p["columns"], number(p["cosine"], 2)) for p in pairs], (2,))
    console.say(f"{len(found['pairs'])} of {found['n_pairs']} pairs have a cosine below {found['below']:g}.")
    console.heading("What to do")
    neglected = ", ".join(map(repr, found["neglected"]))
    console.say(f"Not learnt, no better than mean or mode: {neglected or 'none'}.")
    if found["method"] == "sum":
        console.say("Nothing calls for impartial training: shares are even and no pair conflicts.")
        return
    why = ["shares are uneven"] * found["uneven"] + ["columns conflict"] * bool(pairs)
    console.say(f"Try {found['method']!r}, since {' and '.join(why)}:")
    console.say(f"  {shlex.join(['evenhand', 'compare', data, '--methods', found['method']])}")


def _percent(share: float | None) -> str:
    return "-" if share is None or not math.isfinite(share) else f"{share:.1%}"
