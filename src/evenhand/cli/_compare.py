"""`evenhand compare`: plain against impartial training on a table."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import (
    NAME_A_KIND,
    DataArgument,
    Device,
    Force,
    Header,
    Methods,
    Missing,
    Open,
    Out,
    Overrides,
    SchemaOption,
    check_device,
    check_method,
    check_out,
    check_output,
    find_data,
    split,
)
from ._console import Console
from ._errors import advising, arguments
from ._report_words import show_compared, show_rules, show_verdict

if TYPE_CHECKING:
    from ..lab import Data, Experiment, Folder, TableExperiment

    Configure = Callable[[Data, int], TableExperiment]  # a table and its number of rows

Seeds = Annotated[int | None, typer.Option("--seeds", min=1, help="How many random splits of the rows to train on.")]
Steps = Annotated[int | None, typer.Option("--steps", min=1, help="About how many steps to train.")]


def compare(
    ctx: typer.Context,
    data: DataArgument,
    overrides: Overrides = None,
    seeds: Seeds = None,
    steps: Steps = None,
    methods: Methods = None,
    schema: SchemaOption = None,
    header: Header = None,
    missing: Missing = None,
    out: Out = Path("runs"),
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Where to write the page; in the run's directory by default."),
    ] = None,
    open: Open = False,
    force: Force = False,
    device: Device = "auto",
) -> None:
    """Compare plain and impartial training on a table.

    Prints the kind of every column with the reason, what was converted and what is ignored; then the error of
    every column on rows that were held out, and what plain training reaches at the same rate. Writes a
    directory with all numbers, and a page about them. An interrupted comparison resumes when started again.

    \b
    Examples:
      evenhand compare data.csv
      evenhand compare data.csv --seeds 5 --steps 8000 --page data.html --open
      evenhand compare wine --methods 'imtlg,gradnorm>>pcgrad' training.lr=0.001
    """
    console: Console = ctx.obj
    check_output(page, "--page")
    check_device(device)
    chosen = split(methods, "--methods")
    for method in chosen or []:
        check_method(method, "--methods")
    from ..lab import TableReport, compared, comparison

    options: dict[str, Any] = {"n_seeds": seeds, "steps": steps, "methods": chosen}
    configure = partial(comparison, **{k: v for k, v in options.items() if v is not None})
    config = prepare(console, data, schema, configure, overrides or (), header=header, missing=missing)
    folder = train(console, config, out, force=force, device=device)
    found = compared(TableReport(folder.report()))
    show_compared(console, found)
    written = write_page(console, [folder.path], page or folder.path / "report.html", open)
    console.say(f"All files: {folder.path}")
    show_verdict(console, found)
    console.result({"folder": str(folder.path), "page": str(written), **found})


def prepare(
    console: Console,
    data: str,
    schema: Path | None,
    configure: Configure,
    overrides: Sequence[str] = (),
    *,
    header: bool | None = None,
    missing: list[str] | None = None,
) -> Experiment:
    """The config of an experiment on a table; prints what was assumed about it."""
    console.begin(f"reading {data}")
    from ..lab import TableExperiment, from_dict, load, to_dict

    wanted = find_data(data, schema, header, missing)

    def config(n_rows: int) -> Experiment:
        return from_dict(to_dict(configure(wanted, n_rows)), overrides)

    with arguments():  # a mistake is reported before anything is read
        first = config(1000)
    assert isinstance(first, TableExperiment)
    with advising(NAME_A_KIND, frame="DATA"):
        source = load(first.data)
    n = len(source.schema)
    console.say(f"{source.name}: {len(source.table):,} rows, {n} column{'s' if n > 1 else ''} to learn.")
    show_rules(console, source.schema, source.conversions, source.note)
    return config(len(source.table))


def train(console: Console, config: Experiment, out: Path, *, force: bool, device: str) -> Folder:
    """Run an experiment with a progress bar."""
    from ..common import progress_bar
    from ..lab import Folder, resolve, run

    folder = Folder(out, resolve(config))
    if folder.state == "done" and not force:
        console.say("\nAlready done; --force starts over.")
        return folder
    check_out(out)
    console.interrupted = lambda: how_to_go_on(folder, console.command)
    with progress_bar(console.bars, config.training.epochs) as tick:
        run(config, out, force=force, device=device, command=console.command, tick=tick)
    console.interrupted = lambda: f"The run is done. To see it: {console.command}"
    return folder


def how_to_go_on(folder: Folder, command: str) -> str:
    """What is true of a run that is interrupted now, and what to type."""
    if folder.resumable:
        return f"To go on from the last checkpoint: {command}"
    return f"There is no checkpoint yet, the first one comes after 10 s of training. To start again: {command}"


def write_page(console: Console, folders: list[Path], path: Path, show: bool) -> Path:
    """Write the page of runs, and print where."""
    from ..lab import write_page

    console.begin(f"writing {path}")
    write_page(folders, path)
    console.say()
    console.say(f"Page: {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())
    return path
