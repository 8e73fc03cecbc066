"""`evenhand schema`: kinds of columns, shown, edited and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common import whole_file
from ._arguments import SET, Header, Missing, check_output
from ._console import Console
from ._errors import advising, arguments, refusal
from ._fitted import infer, load_frame
from ._names import KINDS, closest, complete_data
from ._report_words import describe_schema, show_rules

if TYPE_CHECKING:
    from ..tables.schema import Schema


def schema(
    ctx: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A file, the name of a public data set, or a schema (.toml).",
            autocompletion=complete_data,
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the schema there, as TOML.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="COLUMN=KIND", help=f"Another kind: {', '.join(KINDS)}. May be repeated."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="COLUMN", help="Leave a column out. May be repeated.")
    ] = None,
    header: Header = None,
    missing: Missing = None,
) -> None:
    """Show the kinds of a table's columns, and change them.

    Prints the kind of every column with the reason, and the columns that are ignored with theirs. Writes them to
    a file that other verbs take with --schema.

    \b
    Examples:
      evenhand schema data.csv
      evenhand schema data.csv --set visits=real --ignore name -o schema.toml
      evenhand schema schema.toml --set region=ordinal -o schema.toml
    """
    console: Console = ctx.obj
    check_output(output, "--output", suffix=".toml")
    changes = parse_changes(settings or [], ignore or [])
    found, conversions = _edited(console, data, changes, header, missing)
    show_rules(console, found, conversions, everything=True)
    if output is not None:
        with whole_file(output) as partial:
            found.save(partial)
        console.say()
        console.say(f"Written: {output}")
    written = {} if output is None else {"written": str(output)}
    console.result(describe_schema(found, conversions) | written)


def parse_changes(settings: list[str], ignore: list[str]) -> dict[str, str]:
    """Changes by column."""
    changes = dict.fromkeys(ignore, "ignore")
    for text in settings:
        name, equals, kind = text.rpartition("=")
        if not equals or not name or kind not in KINDS:
            advice = closest(kind, KINDS) if equals else ""
            raise refusal("--set", f"be COLUMN=KIND, a kind of {', '.join(KINDS)}", repr(text), advice)
        if name in changes:
            raise refusal("A column", "be changed once", f"{name!r} twice")
        changes[name] = kind
    return changes


def _edited(
    console: Console, data: str, changes: dict[str, Any], header: bool | None, missing: list[str] | None
) -> tuple[Schema, list[str]]:
    from ..tables.schema import Schema

    if data.endswith(".toml"):
        if not Path(data).is_file():
            raise refusal("DATA", "be a file", f"none at {data}")
        found, conversions = Schema.read(data), []
    else:
        loaded = load_frame(console, data, None, header, missing)
        conversions = loaded.conversions
        if loaded.schema is None:
            return _inferred(loaded.frame, changes), conversions
        found = loaded.schema
    # categories are in the table
    with arguments(), advising({f"column {name!r}": f"Begin with the table: {SET}" for name in changes}):
        return (found.update(changes) if changes else found), conversions


def _inferred(frame: Any, changes: dict[str, Any]) -> Schema:
    known = [str(name) for name in frame.columns]
    unknown = next((name for name in changes if name not in known), None)
    if unknown is not None:
        expected = f"name columns ({', '.join(known)})"
        raise refusal("--set and --ignore", expected, repr(unknown), closest(unknown, known))
    return infer(frame, changes)
