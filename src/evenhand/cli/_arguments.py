"""Arguments that several verbs have, and what is checked before any work begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..common import ArgumentError
from ..datasets import NAMES
from ..impartial import CATALOGUE as METHODS
from ._errors import BadArgumentError, arguments, refusal
from ._names import closest, complete_data, complete_methods

if TYPE_CHECKING:
    from ..lab import Data

MODEL = ".safetensors"
LONGITUDINAL = "longitudinal"  # the model of rows over time
SET = "evenhand schema DATA --set column=kind"
NAME_A_KIND = {
    "frame": f"\nName a kind or leave a column out, then pass --schema: {SET} --ignore column -o schema.toml"
}

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, TSV, Parquet, Feather), or the name of a public data set.",
        autocompletion=complete_data,
        show_default=False,
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="SETTING=VALUE", help="Settings of the config, such as training.epochs=10."),
]
SchemaOption = Annotated[
    Path | None, typer.Option("--schema", metavar="FILE", help="The kinds of the columns, written by `schema -o`.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line of a text file holds names; found out else."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="WORD", help="A word that stands for missing cells. May be repeated."),
]
Methods = Annotated[
    str | None,
    typer.Option(
        "--methods",
        metavar="A,B",
        help="Methods to compare, such as imtlg or 'gradnorm>>pcgrad'.",
        autocompletion=complete_methods,
    ),
]
Id = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="Rows over time: the column that says whose a row is.")
]
Time = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="Rows over time: the column that says when.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the directories of runs.")]
Force = Annotated[bool, typer.Option("--force", help="Redo what is already done.")]
Device = Annotated[str, typer.Option("--device", help="'auto' uses a GPU if there is one.")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]


def find_data(
    text: str, schema: Path | None = None, header: bool | None = None, missing: list[str] | None = None
) -> Data:
    """What DATA names: a file, and how it is read, or a public data set."""
    from ..lab import Data

    _check_schema(schema)
    with arguments():
        if text in NAMES:
            if header is not None or missing:
                raise refusal("--header and --missing", "be for files", f"the data set {text!r}", "Leave them out.")
            return Data(text, schema=str(schema or ""))
        if Path(text).is_dir():
            raise refusal("DATA", "be a file", f"the folder {text!r}", "Name a file in it.")
        if not Path(text).is_file():
            raise refusal("DATA", "be a file, or the name of a public data set", repr(text), _near(text))
        check_table_name(Path(text), "DATA")
        named: Literal["", "yes", "no"] = "" if header is None else "yes" if header else "no"
        return Data(path=text, schema=str(schema or ""), header=named, missing=tuple(missing or ()))


def _check_schema(path: Path | None) -> None:
    """Refuse a file that is no schema."""
    if path is None:
        return
    if not path.is_file():
        raise refusal("--schema", "name a file", f"none at {path}")
    from ..tables.schema import Schema

    try:
        Schema.read(path)
    except ArgumentError as error:
        raise _no_schema(path, error.about("It") if error.argument == "text" else error) from error
    except ValueError as error:
        raise _no_schema(path, error) from error


def _no_schema(path: Path, why: ValueError) -> BadArgumentError:
    return refusal("--schema", "name a schema, as `schema -o` writes it", str(path), str(why))


def _near(text: str) -> str:
    folder = Path(text).parent
    files = [str(folder / path.name) for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    return closest(text, [*NAMES, *files]) or "`evenhand datasets` lists the data sets."


def check_table_name(path: Path, what: str, advice: str = "") -> None:
    """Refuse endings that no table has; the advice takes the place of that for files that are read."""
    from ..tables.frames import file_format

    try:
        file_format(path)
    except ArgumentError as error:
        raise BadArgumentError((error.advised(advice) if advice else error).about(what)) from error


def check_output(path: Path | None, what: str, *, suffix: str = "", table: bool = False) -> None:
    """Refuse, before any work, an output that could not be written after it."""
    if path is None:
        return
    if table:
        check_table_name(path, what, "Rename it.")
    if suffix and path.suffix != suffix:
        raise refusal(what, f"end in {suffix}", repr(path.name))
    if path.is_dir():
        raise refusal(what, "be a file", f"the folder {path}", "Add the name of a file.")
    if not path.parent.is_dir():
        raise refusal(what, "be in a folder that exists", f"none at {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise refusal(what, "be in a folder that can be written to", str(path.parent))


def check_panel(id: str | None, time: str | None) -> None:
    """Refuse rows over time of which not both columns are named."""
    for option, name, what in (("--id", id, "whose a row is"), ("--time", time, "when")):
        if not name:
            raise refusal(option, f"name the column that says {what}, for rows over time", "none")


def check_input_is_kept(path: Path, data: str, advice: str = "Name another file.") -> None:
    """Refuse to overwrite what is read."""
    if path.exists() and Path(data).exists() and path.samefile(data):
        raise refusal("OUT", "be another file than DATA, which would be overwritten", str(path), advice)


def check_out(path: Path) -> None:
    """Refuse, before any work, a folder for runs that could not be made or written to."""
    there = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise refusal("--out", "be a folder that can be written to", str(there))


def check_method(name: str, what: str, *also: str) -> None:
    """Refuse a method that has no such name; `also` are words that are known to the option."""
    from ..impartial import method_of

    try:
        method_of(name)
    except ValueError as error:
        known = (*also, *METHODS)
        expected = f"be among {', '.join(known)}, or a chain such as 'imtlg>>pcgrad'"
        raise refusal(what, expected, repr(name), closest(name, known)) from error


def check_device(name: str) -> None:
    """Refuse a device that is not there."""
    from ..common import find_device

    with arguments(device="--device"):
        find_device(name)


def split(text: str | None, what: str, known: tuple[str, ...] = ()) -> list[str] | None:
    """The names of a list with commas; None if there is none."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if known and name not in known]
    if not names or unknown:
        advice = closest(unknown[0], known) if unknown else ""
        raise refusal(what, f"be among {', '.join(known) or 'names'}", repr(unknown[0] if unknown else text), advice)
    return names
