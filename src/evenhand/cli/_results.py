"""`evenhand results`: the paper's tables and figures, from reports alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common import whole_file
from ..lab import EXHIBITS
from ._arguments import check_output
from ._console import Console, finite
from ._errors import refusal
from ._names import closest, complete_results

if TYPE_CHECKING:
    from ..lab import Exhibit, Table

RUNS = Path("runs")
COMMITTED = dict.fromkeys(str(exhibit.committed) for exhibit in EXHIBITS.values() if exhibit.reproducible)


class Format(StrEnum):
    """How a table is written."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    json = "json"


@dataclass(frozen=True)
class Result:
    """What to make of reports, and the directories of the runs they come from."""

    exhibit: Exhibit
    reports: Sequence[Mapping[str, Any]]
    folders: Sequence[Path] = ()
    paper: bool = True


def results(
    ctx: typer.Context,
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help=f"One of {', '.join(EXHIBITS)}.",
            autocompletion=complete_results,
            show_default=False,
        ),
    ],
    places: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help=f"Reports, or folders of runs; by default {RUNS}, and {' or '.join(COMMITTED)}.",
        ),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How a table is written.")] = Format.text,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there. Figures are SVG.")
    ] = None,
    paper: Annotated[bool, typer.Option("--paper/--no-paper", help="The paper's numbers beside ours.")] = True,
) -> None:
    """Print a table of the paper, or draw a figure, from reports.

    Nothing is trained. What is missing is a dash. Tables go to standard output or to a file; figures go to a file,
    TABLE.svg by default.

    \b
    Examples:
      evenhand results table1
      evenhand results controls --from runs --format latex -o controls.tex
      evenhand results rate-distortion -o rates.svg
    """
    console: Console = ctx.obj
    exhibit = find_exhibit(table, tuple(EXHIBITS))
    check_output(output, "--output", suffix=".svg" if exhibit.figure else "")
    found = find_places(exhibit, places)
    console.begin("reading reports")
    from ..lab import run_folders

    result = Result(exhibit, exhibit.reports(found, console.note), run_folders(found), paper)
    show(console, result, form=form, output=output)


def find_exhibit(name: str, known: Sequence[str]) -> Exhibit:
    """The table or figure that TABLE names."""
    if name not in known:
        raise refusal("TABLE", f"be one of {', '.join(known)}", repr(name), closest(name, known))
    return EXHIBITS[name]


def find_places(exhibit: Exhibit, places: Sequence[Path] | None) -> list[Path]:
    """Where to look for reports."""
    if places:
        absent = next((place for place in places if not place.exists()), None)
        if absent is not None:
            raise refusal("--from", "name reports or folders of them", f"nothing at {absent}")
        return list(places)
    found = [place for place in (RUNS, exhibit.committed) if place.exists()]
    if not found:
        raise FileNotFoundError(
            f"There should be reports in {RUNS} or in {exhibit.committed}. Found neither folder here. Name one with "
            f"--from, or run the experiments: evenhand reproduce {exhibit.name}"
        )
    return found


def show(
    console: Console, result: Result, *, form: Format = Format.text, output: Path | None = None, **more: Any
) -> None:
    """Print a table or write it; write a figure and print where."""
    if result.exhibit.figure:
        document = _show_figure(console, result, output)
    else:
        document = _show_table(console, result, form, output)
    console.result({"name": result.exhibit.name, **document, **more})


def _show_table(console: Console, result: Result, form: Format, output: Path | None) -> dict[str, Any]:
    made = result.exhibit.table(result.reports, published=result.paper)
    text = _written(made, Format.json if console.json else form)
    if output is not None:
        _write(output, text)
        console.say(f"Written: {output}")
        return made.to_dict() | {"written": str(output)}
    if form == Format.json and not console.json:
        typer.echo(text)  # not for a reader: nothing in it is taken away
    else:
        console.say(text)
    return made.to_dict()


def _written(table: Table, form: Format) -> str:
    if form == Format.json:
        return json.dumps(finite(table.to_dict()), indent=2, ensure_ascii=False) + "\n"
    return {Format.text: table.to_text, Format.markdown: table.to_markdown, Format.latex: table.to_latex}[form]()


def _show_figure(console: Console, result: Result, output: Path | None) -> dict[str, Any]:
    path = output or Path(f"{result.exhibit.name}.svg")
    figures = result.exhibit.figures(result.reports, result.folders)
    written = []
    for label, svg in figures.items():
        target = path if len(figures) == 1 else path.with_name(f"{path.stem}-{label}{path.suffix}")
        _write(target, svg)
        written.append(str(target))
        console.say(f"Figure: {target}")
    return {"written": written}


def _write(path: Path, text: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
