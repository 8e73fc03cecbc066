"""`evenhand impute`: fill in the missing cells of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ._arguments import MODEL, DataArgument, Device, SchemaOption, check_output
from ._console import Console
from ._fitted import (
    Epochs,
    KLWeight,
    Method,
    SaveModel,
    Seed,
    fit,
    fit_options,
    keep_model,
    load_frame,
    load_model,
    refuse_training,
)


def impute(
    ctx: typer.Context,
    data: DataArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="The filled table: .csv, .tsv, .parquet or .feather."),
    ],
    schema: SchemaOption = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="Use a saved model; nothing is trained.")
    ] = None,
    save_model: SaveModel = None,
    method: Method = "auto",
    kl_weight: KLWeight = "auto",
    draws: Annotated[
        int | None, typer.Option("--draws", min=1, metavar="N", help="Multiple imputation: OUT-1, ..., OUT-N.")
    ] = None,
    epochs: Epochs = None,
    seed: Seed = 0,
    device: Device = "auto",
) -> None:
    """Fill in the missing cells of a table.

    Trains a model on the table, prints what it assumes about the columns and how well it learns them, and writes the
    table without missing cells. All columns keep their names, their order and the cells that were there; ignored
    columns stay as they are. One exception: with --model, a category that the model has never seen is treated as
    missing; how many such cells were replaced is printed. With --draws, several tables are written, each a random
    draw, so that a later analysis can tell how certain the imputed cells are.

    \b
    Examples:
      evenhand impute data.csv -o filled.csv
      evenhand impute data.csv -o filled.csv --draws 5 --save-model data.safetensors
      evenhand impute new.csv -o filled.csv --model data.safetensors
    """
    console: Console = ctx.obj
    paths = [output] if draws is None else [numbered(output, i + 1) for i in range(draws)]
    for path in (output, *paths):
        check_output(path, "OUT", table=True)
    check_output(save_model, "--save-model", suffix=MODEL)
    options = fit_options(method, kl_weight, epochs, seed, device)
    ready = None
    if model is not None:
        refuse_training("--model", schema, save_model, method, kl_weight, epochs)
        ready = load_model(model, "--model")
    loaded = load_frame(console, data, schema)
    fitted = ready or fit(console, loaded, **options)
    keep_model(console, fitted, save_model)
    console.begin("filling the holes")
    tables = [fitted.transform(loaded.frame)] if draws is None else fitted.sample_posterior(loaded.frame, draws, seed)
    written = _write(console, tables, paths)
    counts = _count(console, loaded.frame, tables[0], list(fitted.schema_.names))
    learnt = {} if ready else {"report": fitted.report().sentences(), "columns": fitted.columns_}
    console.result({"written": written, **counts, "method": fitted.method_, **learnt})


def _write(console: Console, tables: Sequence[Any], paths: Sequence[Path]) -> list[str]:
    from ..tables.frames import write_file

    for table, path in zip(tables, paths, strict=True):
        console.begin(f"writing {path}")
        write_file(table, path)
        console.say(f"Written: {path}")
    return [str(path) for path in paths]


def _count(console: Console, before: Any, after: Any, names: list[str]) -> dict[str, int]:
    """How many cells were filled and replaced in the columns of the model, and how many others are missing."""
    filled, replaced = changes(before[names], after[names])
    left = int(after.isna().sum().sum())
    console.say(f"{filled:,} missing cells filled." + (f" {left:,} are left, in ignored columns." if left else ""))
    if replaced:
        console.say(f"{replaced:,} cells replaced, whose categories the model has never seen.")
    return {"filled": filled, "replaced": replaced, "left": left}


def changes(before: Any, after: Any) -> tuple[int, int]:
    """How many missing cells of a frame were filled, and how many other cells hold something else."""
    seen = before.notna()
    replaced = sum(  # as objects, since the categories of two columns need not be the same
        int((before.loc[seen[name], name].astype(object) != after.loc[seen[name], name].astype(object)).sum())
        for name in before
    )
    return int((~seen).sum().sum()), replaced


def numbered(path: Path, i: int) -> Path:
    """OUT-1.csv for OUT.csv, OUT-1.csv.gz for OUT.csv.gz."""
    packed = path.suffix.lower() in (".gz", ".xz", ".bz2", ".zip")
    ending = "".join(path.suffixes[-2:] if packed else path.suffixes[-1:])
    return path.with_name(f"{path.name.removesuffix(ending)}-{i}{ending}")
