"""Arguments that several verbs have, and what is checked before any work begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._console import BadArgumentError, arguments
from ._names import DATASETS, closest, complete_data, complete_methods

if TYPE_CHECKING:
    from ..lab import Data

MODEL = ".safetensors"

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
    Path | None, typer.Option("--schema", metavar="FILE", help="Kinds of the columns, as `schema` writes them.")
]
Methods = Annotated[
    str | None,
    typer.Option(
        "--methods",
        metavar="A,B",
        help="Choices of f, such as imtlg or 'gradnorm>>pcgrad'.",
        autocompletion=complete_methods,
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the directories of runs are.")]
Force = Annotated[bool, typer.Option("--force", help="Start over what is done.")]
Device = Annotated[str, typer.Option("--device", help="'auto' takes a GPU if there is one.")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]


def find_data(text: str, schema: Path | None = None) -> Data:
    """What DATA names: a file, or a public data set."""
    from ..lab import Data

    with arguments():
        _check_schema(schema)
        if text in DATASETS:
            return Data(text, schema=str(schema or ""))
        if not Path(text).is_file():
            raise BadArgumentError(
                f"DATA should be a file, or the name of a public data set. Found {text!r}.{_near(text)}"
            )
        check_table_name(Path(text), "DATA")
        return Data(path=text, schema=str(schema or ""))


def _check_schema(path: Path | None) -> None:
    """Refuse a file that is no schema."""
    if path is None:
        return
    if not path.is_file():
        raise BadArgumentError(f"--schema should name a file. Found none at {path}.")
    from ..tables.schema import Schema

    try:
        Schema.read(path)
    except ValueError as error:
        words = str(error).removeprefix("text should be a schema in TOML. ")
        raise BadArgumentError(f"--schema should name a schema, as `schema -o` writes it. {path}: {words}") from error


def _near(text: str) -> str:
    folder = Path(text).parent
    files = [str(folder / path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return closest(text, [*DATASETS, *files]) or " `evenhand datasets` lists the data sets."


def check_table_name(path: Path, what: str) -> None:
    """Refuse endings that no table has."""
    from ..tables.frames import file_format

    try:
        file_format(path)
    except ValueError as error:
        words = str(error).replace("path should", f"{what} should", 1)
        raise BadArgumentError(
            words if what == "DATA" else words.replace("Save the table as CSV first", "Rename it")
        ) from error


def check_output(path: Path | None, what: str, *, suffix: str = "", table: bool = False) -> None:
    """Refuse, before any work, an output that could not be written after it."""
    if path is None:
        return
    if table:
        check_table_name(path, what)
    if suffix and path.suffix != suffix:
        raise BadArgumentError(f"{what} should end in {suffix}. Found {path.name!r}.")
    if path.is_dir():
        raise BadArgumentError(f"{what} should be a file. Found the folder {path}. Add the name of a file.")
    if not path.parent.is_dir():
        raise BadArgumentError(f"{what} should be in a folder that exists. Found none at {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise BadArgumentError(f"{what} should be in a folder that can be written to. Found {path.parent}.")


def check_out(path: Path) -> None:
    """Refuse, before any work, a folder for runs that could not be made or written to."""
    there = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadArgumentError(f"--out should be a folder that can be written to. Found {there}.")


def check_method(name: str, what: str, *also: str) -> None:
    """Refuse a choice of f that has no such name; `also` are words that are known to the option."""
    from ..impartial import CATALOGUE, method_of

    try:
        method_of(name)
    except ValueError as error:
        known = (*also, *CATALOGUE)
        raise BadArgumentError(
            f"{what} should be among {', '.join(known)}, or a chain such as 'imtlg>>pcgrad'. Found {name!r}."
            f"{closest(name, known)}"
        ) from error


def check_device(name: str) -> None:
    """Refuse a device that is not there."""
    from ..common import find_device

    with arguments():
        find_device(name)


def split(text: str | None, what: str, known: tuple[str, ...] = ()) -> list[str] | None:
    """The names of a list with commas; None if there is none."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if known and name not in known]
    if not names or unknown:
        found = repr(unknown[0] if unknown else text)
        advice = closest(unknown[0], known) if unknown else ""
        raise BadArgumentError(f"{what} should be among {', '.join(known) or 'names'}. Found {found}.{advice}")
    return names
