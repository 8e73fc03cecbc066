"""`evenhand impute`: fill the holes of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._arguments import MODEL, DataArgument, Device, SchemaOption, check_device, check_output
from ._console import BadArgumentError, Console
from ._fitted import Epochs, KLWeight, Method, SaveModel, Seed, fit, fit_options, load_frame, load_model


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
    order and observed cells; columns that are ignored stay as they are, with their holes. With --draws, several
    tables are written, each a draw, so that what follows can tell how sure the guesses are.

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
    if model is not None and (schema or save_model or method != "auto" or kl_weight != "auto" or epochs):
        raise BadArgumentError("--model should stand without options of training. Found some; leave them out.")
    from ..data import write_file

    ready = None if model is None else load_model(model)
    loaded = load_frame(data, schema)
    fitted = ready or fit(console, loaded, **options, max_epochs=epochs, random_state=seed, device=device)
    if save_model is not None:
        fitted.save(save_model)
        console.say(f"Model: {save_model}")
    tables = [fitted.transform(loaded.frame)] if draws is None else fitted.sample_posterior(loaded.frame, draws, seed)
    for table, path in zip(tables, paths, strict=True):
        write_file(table, path)
        console.say(f"Written: {path}")
    holes = int(loaded.frame[list(fitted.schema_.names)].isna().sum().sum())
    left = int(tables[0].isna().sum().sum())
    console.say(f"{holes:,} holes filled." + (f" {left:,} are left, in ignored columns." if left else ""))
    written = [str(path) for path in paths]
    learnt = {} if model is not None else {"report": fitted.report().sentences(), "columns": fitted.columns_}
    console.result({"written": written, "filled": holes, "left": left, "method": fitted.method_, **learnt})


def numbered(path: Path, i: int) -> Path:
    """OUT-1.csv for OUT.csv, OUT-1.csv.gz for OUT.csv.gz."""
    packed = path.suffix.lower() in (".gz", ".xz", ".bz2", ".zip")
    ending = "".join(path.suffixes[-2:] if packed else path.suffixes[-1:])
    return path.with_name(f"{path.name.removesuffix(ending)}-{i}{ending}")
