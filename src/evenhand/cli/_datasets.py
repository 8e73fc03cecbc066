"""`evenhand datasets`: the public data sets, where they are, and how to get them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from ..datasets import CATALOGUE
from ._console import Console
from ._errors import refusal
from ._names import closest, complete_any_data

app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME...", help="Data sets.", autocompletion=complete_any_data, show_default=False),
]
All = Annotated[bool, typer.Option("--all", help="All of them.")]


@app.callback()
def datasets(ctx: typer.Context) -> None:
    """List the public data sets, and where each one is.

    A data set is in the folder that EVENHAND_DATA names, in an installed package, in the cache of fetched files, or
    not here; in that case a verb that needs it fetches it.

    \b
    Examples:
      evenhand datasets
      evenhand datasets fetch wine hi
      evenhand datasets verify --all
    """
    if ctx.invoked_subcommand is not None:
        return
    console: Console = ctx.obj
    keys = ("name", "rows", "columns", "licence", "source")
    found = [{key: getattr(entry, key) for key in keys} | {"where": entry.place} for entry in CATALOGUE.values()]
    shown = [(e["name"], f"{e['rows']:,}", str(e["columns"]), e["licence"], e["where"], e["source"]) for e in found]
    console.table(("name", "rows", "columns", "licence", "where", "source"), shown, (1, 2))
    console.result(found)


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
        advice = "`evenhand datasets` lists the names."
        raise refusal("Either NAME or --all", "be given", "both" if everything else "neither", advice)
    unknown = next((name for name in names or [] if name not in CATALOGUE), None)
    if unknown is not None:
        raise refusal("NAME", f"be one of {', '.join(CATALOGUE)}", repr(unknown), closest(unknown, tuple(CATALOGUE)))
    return names or list(CATALOGUE)


def _each(console: Console, names: Sequence[str], work: Callable[[str], str]) -> None:
    """Do something with every data set; those that fail do not stop the others."""
    failed = {}
    said = {}
    for name in names:
        console.begin(f"looking at {name}")
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
    CATALOGUE[name].read()
    return CATALOGUE[name].place


def _verified(name: str) -> str:
    place = CATALOGUE[name].place
    if place == "not here":
        raise FileNotFoundError(f"it is not here. To fetch it: evenhand datasets fetch {name}")
    CATALOGUE[name].read()
    known = place != "package" and not CATALOGUE[name].unpacked
    checked = "checksums, rows and columns are" if known else "rows and columns are"
    return f"{checked} as they should be ({place})"
