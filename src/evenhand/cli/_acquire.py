"""`evenhand acquire`: which missing cell of a row to ask for next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..tables.families import FAMILIES
from ._arguments import DataArgument, check_input_is_kept, check_output
from ._console import Console
from ._errors import arguments, refusal
from ._fitted import Learning, SavedModel, fit
from ._spread import spread

SHOWN = 10  # rows
HIDE = 0.5  # of the cells in training, on average: rows that are asked about may be almost empty
FAMILY = "vaem"  # which was made for it


@spread(Learning)
def acquire(
    ctx: typer.Context,
    data: DataArgument,
    target: Annotated[str, typer.Option("--target", metavar="COLUMN", help="What is to be known.")],
    budget: Annotated[int, typer.Option("--budget", min=1, metavar="N", help="Cells to name for each row.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="All rows: .csv, .tsv, .parquet or .feather."),
    ] = None,
    model: SavedModel = None,
    *,
    learning: Learning,
) -> None:
    """Say which missing cell to ask for next.

    Trains a model on the table (VAEM, unless --family names another), or reads a saved one, and names for every row
    whose target is missing the cells that are expected to tell most about it, in nats. Ask for the first one, write
    the answer into the table, and start again with --model.

    \b
    Examples:
      evenhand acquire patients.csv --target diagnosis --save-model patients.safetensors
      evenhand acquire new.csv --target diagnosis --model patients.safetensors --budget 3 -o ask.csv
    """
    console: Console = ctx.obj
    check_output(output, "OUT", table=True)
    if output is not None:
        check_input_is_kept(output, data, "Name another file.")
    options = learning.options()
    _check_able(learning.family)
    ready = learning.saved(model)
    loaded = learning.load(console, data)
    _check_target(loaded.frame, target, (ready.schema_ if ready else loaded.known).names)
    fitted = ready or fit(console, loaded, **{"model": FAMILY, "hide": HIDE, **options})
    learning.keep(console, fitted)
    console.begin("weighing the missing cells")
    with arguments(model="--model"):
        asked = flat(fitted.acquire(loaded.frame, target, budget, random_state=learning.seed))
    _show(console, asked, target)
    console.result({"target": target, "asked": asked, "written": _write(console, asked, output)})


def _check_able(family: str | None) -> None:
    """Refuse a family whose latent variables are not Gaussian given a row."""
    if family is not None and not FAMILIES[family].posterior_is_gaussian:
        able = [name for name, known in FAMILIES.items() if known.posterior_is_gaussian]
        raise refusal("--family", f"be one of {', '.join(able)} here", repr(family))


def _check_target(frame: Any, target: str, learnt: Sequence[str]) -> None:
    if target not in learnt:
        raise refusal("--target", f"be one of the columns to learn: {', '.join(learnt)}", repr(target))
    if target not in frame:
        return  # the model's own refusal names all columns that are lacking
    if not frame[target].isna().any():
        raise refusal("--target", "be missing in some rows", f"no hole in {target!r}", "Leave its cell empty.")


def flat(wishes: Sequence[dict[str, float]]) -> list[dict[str, Any]]:
    """A record for every cell to ask for; rows are counted from 1."""
    return [
        {"row": row, "column": column, "nats": nats}
        for row, wish in enumerate(wishes, 1)
        for column, nats in wish.items()
    ]


def _show(console: Console, asked: Sequence[dict[str, Any]], target: str) -> None:
    rows = sorted({record["row"] for record in asked})
    if not rows:
        console.say(f"Nothing to ask: rows without {target!r} have no other missing cell.")
        return
    console.heading(f"What tells most about {target!r}")
    first = [record for record in asked if record["row"] in rows[:SHOWN]]
    cells = [[str(record["row"]), record["column"], f"{record['nats']:.3f}"] for record in first]
    console.table(["row", "ask for", "nats"], cells, numbers=[0, 2])
    if len(rows) > SHOWN:
        console.say(f"... and {len(rows) - SHOWN:,} more rows; -o OUT writes all.")


def _write(console: Console, asked: Sequence[dict[str, Any]], output: Path | None) -> str | None:
    if output is None:
        return None
    import pandas as pd

    from ..tables.frames import write_file

    write_file(pd.DataFrame(asked, columns=["row", "column", "nats"]), output)
    console.say(f"Written: {output}")
    return str(output)
