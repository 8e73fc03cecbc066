"""`evenhand results`: the paper's tables and figures, from reports alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import check_output
from ._console import BadArgumentError, Console
from ._names import FIGURES, OF_MODALITIES, RESULTS, closest, complete_results

if TYPE_CHECKING:
    from ..lab import Table

Report = dict[str, Any]
TABULAR, MULTIMODAL = Path("paper/table1/reports"), Path("paper/multimodal/reports")  # what a clone brings


class Format(StrEnum):
    """How a table is written."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    json = "json"


@dataclass(frozen=True)
class Result:
    """What to make of reports, and the directories of runs they come from."""

    name: str
    reports: list[Report]
    folders: Sequence[Path] = ()
    paper: bool = True


def results(
    ctx: typer.Context,
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help=f"One of {', '.join(RESULTS)}.",
            autocompletion=complete_results,
            show_default=False,
        ),
    ],
    places: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help=f"Reports, or folders of runs; if not given, runs, and {TABULAR} or {MULTIMODAL}.",
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
    TABLE.svg if none is named. `overhead` reads what benchmarks/mixture_overhead.py writes.

    \b
    Examples:
      evenhand results table1
      evenhand results controls --from runs --format latex -o controls.tex
      evenhand results rate-distortion -o rates.svg
    """
    console: Console = ctx.obj
    if table not in RESULTS:
        raise BadArgumentError(
            f"TABLE should be one of {', '.join(RESULTS)}. Found {table!r}.{closest(table, RESULTS)}"
        )
    check_output(output, "--output", suffix=".svg" if table in FIGURES else "")
    found = find_places(table, places)
    if table == "overhead":
        result = Result(table, _overheads(found), paper=paper)
    else:
        result = Result(table, read_relevant(console, table, found), _run_folders(found), paper)
    show(console, result, form=form, output=output)


def show(
    console: Console, result: Result, *, form: Format = Format.text, output: Path | None = None, **more: Any
) -> None:
    """Print a table or write it; write a figure and say where."""
    if result.name in FIGURES:
        _show_figure(console, result, output, more)
        return
    made = make_table(result)
    text = _written(made, Format.json if console.json else form)
    if output is not None:
        from ..common import whole_file

        with whole_file(output) as partial_file:
            partial_file.write_text(text, encoding="utf-8")
        console.say(f"Written: {output}")
        more["written"] = str(output)
    elif form == Format.json and not console.json:
        typer.echo(text)  # not for a reader: nothing in it is taken away
    else:
        console.say(text)
    console.result({"name": result.name, **as_document(made), **more})


def _written(table: Table, form: Format) -> str:
    if form == Format.json:
        from ._console import finite

        return json.dumps(finite(as_document(table)), indent=2, ensure_ascii=False) + "\n"
    return {Format.text: table.to_text, Format.markdown: table.to_markdown, Format.latex: table.to_latex}[form]()


def as_document(table: Table) -> dict[str, Any]:
    """A table as JSON can hold it."""

    def cell(found: Any) -> Any:
        return found if isinstance(found, str) else {"value": found.value, "std": found.std, "bold": found.bold}

    rows = [[cell(found) for found in row] for row in table.rows]
    return {
        "title": table.title,
        "header": [list(row) for row in table.header],
        "rows": rows,
        "notes": [*table.notes],
    }


# ---------------------------------------------------------------- tables


def make_table(result: Result) -> Table:
    """The table of that name."""
    from ..lab import _multimodal_tables as modalities
    from ..lab import _tables as tables

    name, reports, published = result.name, result.reports, result.paper
    if name == "overhead":
        return tables.overhead(reports[0], published=published)
    if name == "equal-rate":
        return tables.equal_rate(reports)
    if name not in OF_MODALITIES:
        return getattr(tables, name)(reports, published=published)
    data = _data_of(reports)
    if name in ("table3", "table4", "table5", "table9"):
        return getattr(modalities, name)(reports, data=data, published=published)
    maker = modalities.coherence_by_objective if int(name[5:]) < 13 else modalities.log_likelihoods
    return maker(reports, OF_MODALITIES[name][0], data=data, published=published)


def _data_of(reports: Iterable[Report]) -> str:
    """The paper's data if they are there, else the small ones."""
    names = [report["data"]["name"] for report in reports]
    return "mnist_svhn_text" if "mnist_svhn_text" in names or not names else str(names[0])


# ---------------------------------------------------------------- figures


def _show_figure(console: Console, result: Result, output: Path | None, more: Mapping[str, Any]) -> None:
    from ..common import whole_file

    path = output or Path(f"{result.name}.svg")
    figures = make_figures(result)
    written = []
    for label, svg in figures.items():
        target = path if len(figures) == 1 else path.with_name(f"{path.stem}-{label}{path.suffix}")
        with whole_file(target) as partial_file:
            partial_file.write_text(svg, encoding="utf-8")
        written.append(str(target))
        console.say(f"Figure: {target}")
    console.result({"name": result.name, "written": written, **more})


def make_figures(result: Result) -> dict[str, str]:
    """SVG text by label; most figures are one."""
    from ..lab import MODELS
    from ..lab import _figures as figures

    if result.name == "rate-distortion":
        return {"all": figures.rate_distortion(result.reports)}
    if result.name == "figure4":
        return _pair_plots(result.folders)
    data = _data_of(result.reports)
    there = {report["config"]["model"]["experts"] for report in result.reports}
    draw = partial(figures.parallel, result.reports, data=data)
    return {name: draw(title) for name, title in MODELS.items() if name in there}


def _pair_plots(folders: Sequence[Path]) -> dict[str, str]:
    import numpy as np

    from ..lab import TableReport, column_pairs, pair_plot
    from ..tables.schema import Schema

    found = {}
    for folder in folders:
        if not (folder / "samples.npz").is_file():
            continue
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        read = TableReport(report)
        with np.load(folder / "samples.npz", allow_pickle=False) as arrays:
            rows = {label: arrays[label] for label in ("real", *report["generated"]["labels"])}
        columns = [pair.name for pair in column_pairs(read, read.best())][:4]
        found[folder.name] = pair_plot(rows.pop("real"), rows, Schema.from_toml(report["schema"]), columns)
    if not found:
        raise ValueError(
            "figure4 should have runs that generated rows. Found none: run one with evaluation.generate=1000, or "
            "`evenhand compare DATA`."
        )
    return found


# ---------------------------------------------------------------- reports


def find_places(table: str, places: Sequence[Path] | None) -> list[Path]:
    """Where reports are looked for."""
    if places:
        absent = [place for place in places if not place.exists()]
        if absent:
            raise BadArgumentError(f"--from should name reports or folders of them. Found nothing at {absent[0]}.")
        return list(places)
    committed = MULTIMODAL.parent if table == "overhead" else MULTIMODAL if table in OF_MODALITIES else TABULAR
    found = [place for place in (Path("runs"), committed) if place.exists()]
    if not found:
        raise FileNotFoundError(
            f"There should be reports in runs or in {committed}. Found neither folder here. Name one with --from, or "
            f"run the experiments: evenhand reproduce {table}"
        )
    return found


def read_relevant(console: Console, table: str, places: Sequence[Path]) -> list[Report]:
    """The reports that a table is made of, one for each of its cells."""
    from ..lab import read_reports

    wanted = "multimodal" if table in OF_MODALITIES else "table"
    found = [report for report in read_reports(*places) if report["experiment"] == wanted]
    ours = [report for report in found if _as_in_the_paper(report)]
    if not table.startswith("table"):  # tables of the paper are about its networks; the others about any
        ours = ours or found
    if not ours:
        raise FileNotFoundError(
            f"There should be finished runs for {table} in {', '.join(map(str, places))}. Found none. To run them: "
            f"evenhand reproduce {table}"
        )
    return _one_of_each(console, ours)


def _as_in_the_paper(report: Report) -> bool:
    return report["experiment"] != "table" or not report["config"]["model"].get("within_range", False)


def _one_of_each(console: Console, reports: Sequence[Report]) -> list[Report]:
    """Of several reports of the same experiment, that of the longest training."""
    found: dict[tuple[str, str], Report] = {}
    for report in reports:
        key = report["data"]["name"], report["name"]  # a file wine.csv gives experiments the names of those on wine
        if key in found:
            console.note(f"Several reports of {key[1]} on {key[0]}: the longest training is shown. --from chooses.")
        found[key] = max(found.get(key, report), report, key=_length)
    return list(found.values())


def _length(report: Report) -> tuple[int, int]:
    return report["config"]["training"]["epochs"], len(report.get("seeds", []))


def _run_folders(places: Sequence[Path]) -> list[Path]:
    found = {done.parent for place in places if place.is_dir() for done in place.rglob("DONE")}
    return sorted(path for path in found if (path / "report.json").is_file())


def _overheads(places: Sequence[Path]) -> list[Report]:
    files = [file for place in places for file in (sorted(place.glob("*.json")) if place.is_dir() else [place])]
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    found = [d for d in documents if isinstance(d, dict) and isinstance(d.get("rows"), dict)]
    if not found:
        raise FileNotFoundError(
            "overhead should have a file that benchmarks/mixture_overhead.py wrote. Found none; name it with --from."
        )
    return found
