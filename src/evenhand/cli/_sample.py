"""`evenhand sample`: new rows like those of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import MODEL, Device, SchemaOption, check_device, check_output
from ._console import BadArgumentError, Console
from ._fitted import Epochs, KLWeight, Method, SaveModel, Seed, fit, fit_options, load_frame, load_model
from ._names import complete_data

if TYPE_CHECKING:
    from ..schema import Schema


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
        list[str] | None, typer.Option("--given", metavar="COLUMN=VALUE", help="Fix a column; may be repeated.")
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
    from ..data import write_file

    if data.endswith(MODEL):
        if schema or save_model or method != "auto" or kl_weight != "auto" or epochs:
            raise BadArgumentError(
                "A saved model should stand without options of training. Found some; leave them out."
            )
        fitted = load_model(Path(data))
        known = parse_given(given or [], fitted.schema_)
    else:
        loaded = load_frame(data, schema)
        parse_given(given or [], loaded.known)  # before training
        fitted = fit(console, loaded, **options, max_epochs=epochs, random_state=seed, device=device)
        known = parse_given(given or [], fitted.schema_)
    if save_model is not None:
        fitted.save(save_model)
        console.say(f"Model: {save_model}")
    made = fitted.sample(rows, given=known or None, random_state=seed)
    write_file(made, output)
    console.say(f"{rows:,} rows written: {output}")
    console.result({"written": str(output), "rows": rows, "columns": [str(name) for name in made.columns]})


def parse_given(texts: list[str], schema: Schema) -> dict[str, Any]:
    """Values by column from COLUMN=VALUE; of a category, the one that is written like this."""
    found: dict[str, Any] = {}
    for text in texts:
        names = [name for name in schema.names if text.startswith(f"{name}=")]
        if not names:
            known = ", ".join(schema.names)
            raise BadArgumentError(f"--given should be COLUMN=VALUE, with a column of {known}. Found {text!r}.")
        name = max(names, key=len)
        found[name] = _value(text[len(name) + 1 :], schema[name])
    return found


def _value(text: str, column: Any) -> Any:
    if column.categories:
        known = {str(category): category for category in column.categories}
        if text not in known:
            raise BadArgumentError(f"--given {column.name} should be one of {', '.join(known)}. Found {text!r}.")
        return known[text]
    try:
        if column.unit == "days":
            import numpy as np

            return np.datetime64(text)
        return float(text)
    except ValueError as error:
        what = "a date such as 2020-01-31" if column.unit else "a number"
        raise BadArgumentError(f"--given {column.name} should be {what}. Found {text!r}.") from error
