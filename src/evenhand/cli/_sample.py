"""`evenhand sample`: new rows like those of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._arguments import MODEL, Device, SchemaOption, check_device, check_output
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
from ._given import parse_given
from ._names import complete_data


def sample(
    ctx: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA|MODEL",
            help="A file, the name of a public data set, or a saved model (.safetensors).",
            autocompletion=complete_data,
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="The new rows: .csv, .tsv, .parquet or .feather."),
    ],
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="How many.")] = 1000,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            metavar="COLUMN=VALUE",
            help="Fix a column: a number, a category, 2020-01-31, '3 days'. May be repeated.",
        ),
    ] = None,
    schema: SchemaOption = None,
    save_model: SaveModel = None,
    method: Method = "auto",
    kl_weight: KLWeight = "auto",
    epochs: Epochs = None,
    seed: Seed = 0,
    device: Device = "auto",
) -> None:
    """Make new rows like those of a table.

    Learns the table, or reads a model that was saved, and writes rows that it draws. Columns that were ignored are
    left out. The rows are not anonymous: nothing bounds what they tell about a row of the table.

    \b
    Examples:
      evenhand sample data.csv -n 1000 -o new.csv --save-model data.safetensors
      evenhand sample data.safetensors -n 50 -o south.csv --given region=south --given age=40
    """
    console: Console = ctx.obj
    check_output(output, "OUT", table=True)
    check_output(save_model, "--save-model", suffix=MODEL)
    check_device(device)
    options = fit_options(method, kl_weight)
    from ..tables.frames import forms_of, write_file

    if data.endswith(MODEL):
        refuse_training("A saved model", schema, save_model, method, kl_weight, epochs)
        fitted = load_model(Path(data), "MODEL")
    else:
        loaded = load_frame(data, schema)
        if given:  # before training
            parse_given(given, loaded.known, forms_of(loaded.frame, loaded.known))
        fitted = fit(console, loaded, **options, max_epochs=epochs, random_state=seed, device=device)
    known = parse_given(given or [], fitted.schema_, fitted._forms)
    keep_model(console, fitted, save_model)
    made = fitted.sample(rows, given=known or None, random_state=seed)
    write_file(made, output)
    console.say(f"{rows:,} rows written: {output}")
    console.result({"written": str(output), "rows": rows, "columns": [str(name) for name in made.columns]})
