"""`evenhand diagnose`: where the gradients of a table's columns conflict."""

from __future__ import annotations

import math
import shlex
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ._arguments import DataArgument, Device, Force, Header, Missing, Out, SchemaOption, check_device
from ._compare import prepare, train
from ._console import Console, number
from ._report_words import MOST, enumerated

MOST_PAIRS = 10

Steps = Annotated[int, typer.Option("--steps", min=1, help="About how many steps to train.")]


def diagnose(
    ctx: typer.Context,
    data: DataArgument,
    steps: Steps = 1000,
    schema: SchemaOption = None,
    header: Header = None,
    missing: Missing = None,
    out: Out = Path("runs"),
    force: Force = False,
    device: Device = "auto",
) -> None:
    """Report where the gradients of a table's columns conflict.

    Trains plainly for a short while. Prints every column's share of the gradient where the heads of the decoder
    meet, at the start and at the end of training; the pairs of columns that pull in opposite directions; the columns
    that are not learnt; and a method to try.

    \b
    Example:
      evenhand diagnose data.csv
    """
    console: Console = ctx.obj
    check_device(device)
    from ..lab import TableReport, diagnosed, diagnosis

    config = prepare(console, data, schema, partial(diagnosis, steps=steps), header=header, missing=missing)
    folder = train(console, config, out, force=force, device=device)
    found = diagnosed(TableReport(folder.report()))
    _show(console, found, data)
    console.result({"folder": str(folder.path), **found})


def _show(console: Console, found: dict[str, Any], data: str) -> None:
    console.heading("Shares of the gradient where the heads meet")
    ordered = sorted(found["columns"], key=lambda c: -(c["share_last"] or 0.0))
    rows = [(c["column"], c["kind"], _percent(c["share_first"]), _percent(c["share_last"])) for c in ordered]
    if len(rows) > MOST:
        rows = [*rows[: MOST // 2], ("...", "", "", ""), *rows[-MOST // 2 :]]
    console.table(("column", "kind", "first", "last"), rows, (2, 3))
    console.say(f"An even share would be {1 / len(ordered):.1%}.")
    pairs = found["pairs"][:MOST_PAIRS]
    console.heading("Columns that pull in opposite directions")
    if pairs:
        console.table(("column", "against", "cosine"), [(*p["columns"], number(p["cosine"], 2)) for p in pairs], (2,))
    console.say(f"{found['n_opposed']:,} of {found['n_pairs']:,} pairs have a cosine below {found['below']:g}.")
    console.heading("What to do")
    console.say(f"Not learnt, no better than mean or mode: {enumerated(found['neglected']) or 'none'}.")
    why = ["shares are uneven"] * found["uneven"] + ["columns conflict"] * bool(pairs)
    if not why:
        console.say("Nothing calls for impartial training: shares are even and no pair conflicts.")
        return
    console.say(f"Try {found['method']!r}, since {' and '.join(why)}:")
    console.say(f"  {shlex.join(['evenhand', 'compare', data, '--methods', found['method']])}")


def _percent(share: float | None) -> str:
    return "-" if share is None or not math.isfinite(share) else f"{share:.1%}"
