"""`evenhand impute`: fill the holes of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._arguments import MODEL, DataArgument, Device, SchemaOption, check_device, check_output
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
    """Fill the holes of a table.

    Learns the table, says by which rules and how well, and writes it without holes. All columns keep their names,
    order and observed cells; columns that are ignored stay as they are, with their holes. Only categories that the
    model of --model never saw are replaced as if they were holes; how many is said. With --draws, several tables
    are written, each a draw, so that what follows can tell how sure the guesses are.

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
    check_device(device)
    options = fit_options(method, kl_weight)
    if model is not None:
        refuse_training("--model", schema, save_model, method, kl_weight, epochs)
    from ..tables.frames import write_file

    ready = None if model is None else load_model(model, "--model")
    loaded = load_frame(data, schema)
    fitted = ready or fit(console, loaded, **options, max_epochs=epochs, random_state=seed, device=device)
    keep_model(console, fitted, save_model)
    tables = [fitted.transform(loaded.frame)] if draws is None else fitted.sample_posterior(loaded.frame, draws, seed)
    for table, path in zip(tables, paths, strict=True):
        write_file(table, path)
        console.say(f"Written: {path}")
    names = list(fitted.schema_.names)
    holes, replaced = changes(loaded.frame[names], tables[0][names])
    left = int(tables[0].isna().sum().sum())
    console.say(f"{holes:,} holes filled." + (f" {left:,} are left, in ignored columns." if left else ""))
    if replaced:
        console.say(f"{replaced:,} cells of categories that the model never saw replaced.")
    written = [str(path) for path in paths]
    learnt = {} if model is not None else {"report": fitted.report().sentences(), "columns": fitted.columns_}
    counts = {"filled": holes, "replaced": replaced, "left": left}
    console.result({"written": written, **counts, "method": fitted.method_, **learnt})


def changes(before: Any, after: Any) -> tuple[int, int]:
    """How many holes of a frame were filled, and how many cells that were none hold something else."""
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
