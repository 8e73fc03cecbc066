"""`evenhand sample`: new rows like those of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import MODEL, check_input_is_kept, check_output
from ._console import Console
from ._fitted import Learning, Loaded, fit, load_model
from ._given import parse_given
from ._names import complete_data
from ._spread import spread

if TYPE_CHECKING:
    from ..tables.estimator import TabularVAE


DataOrModel = Annotated[
    str,
    typer.Argument(
        metavar="DATA|MODEL",
        help="A file, the name of a public data set, or a saved model (.safetensors).",
        autocompletion=complete_data,
        show_default=False,
    ),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="OUT", help="The new rows: .csv, .tsv, .parquet or .feather."),
]
Rows = Annotated[int, typer.Option("--rows", "-n", min=1, help="How many rows.")]
Given = Annotated[
    list[str] | None,
    typer.Option(
        "--given",
        metavar="COLUMN=VALUE",
        help="Fix a column: a number, a category, 2020-01-31, '3 days'. May be repeated.",
    ),
]


@spread(Learning)
def sample(
    ctx: typer.Context,
    data: DataOrModel,
    output: Output,
    rows: Rows = 1000,
    given: Given = None,
    *,
    learning: Learning,
) -> None:
    """Make new rows like those of a table.

    Trains a model on the table, or reads a saved one, and writes rows that it draws. Ignored columns are left out.
    The rows are not anonymous: nothing limits what they reveal about the rows of the table.

    \b
    Examples:
      evenhand sample data.csv -n 1000 -o new.csv --save-model data.safetensors
      evenhand sample data.safetensors -n 50 -o south.csv --given region=south --given age=40
    """
    console: Console = ctx.obj
    check_output(output, "OUT", table=True)
    check_input_is_kept(output, data)
    options = learning.options()
    if data.endswith(MODEL):
        learning.refuse("A saved model", learning.header, learning.missing)
        fitted = load_model(Path(data), "MODEL")
    else:
        fitted = _learn(console, learning.load(console, data), given or [], options)
    known = parse_given(given or [], fitted.schema_, fitted.forms_)
    learning.keep(console, fitted)
    console.begin("making new rows")
    made = fitted.sample(rows, given=known or None, random_state=learning.seed)
    from ..tables.frames import write_file

    write_file(made, output)
    console.say(f"{rows:,} rows written: {output}")
    console.result({"written": str(output), "rows": rows, "columns": [str(name) for name in made.columns]})


def _learn(console: Console, loaded: Loaded, given: list[str], options: dict[str, Any]) -> TabularVAE:
    """A model of the table; what is given is checked before training."""
    from ..tables.frames import forms_of

    parse_given(given, loaded.known, forms_of(loaded.frame, loaded.known))
    return fit(console, loaded, **options)
