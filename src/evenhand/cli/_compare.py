"""`evenhand compare`: plain against impartial training on a table."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..tables.families import FAMILIES
from ._arguments import (
    LONGITUDINAL,
    NAME_A_KIND,
    DataArgument,
    Device,
    Force,
    Header,
    Id,
    Methods,
    Missing,
    Open,
    Out,
    Overrides,
    SchemaOption,
    Time,
    check_device,
    check_method,
    check_out,
    check_output,
    check_panel,
    find_data,
    split,
)
from ._console import Console
from ._errors import advising, arguments, refusal
from ._names import closest
from ._report_words import show_compared, show_rules, show_verdict

if TYPE_CHECKING:
    from ..lab import Data, Experiment, Folder, PanelExperiment, TableExperiment

    OfColumns = TableExperiment | PanelExperiment
    Configure = Callable[[Data, int], OfColumns]  # a table, and its number of rows or histories

Seeds = Annotated[int | None, typer.Option("--seeds", min=1, help="How many random splits of the rows to train on.")]
Steps = Annotated[int | None, typer.Option("--steps", min=1, help="About how many steps to train.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help=f"The kind of network: {', '.join(FAMILIES)}, or {LONGITUDINAL} for rows over time. By default vae.",
        show_default=False,
    ),
]


def compare(
    ctx: typer.Context,
    data: DataArgument,
    overrides: Overrides = None,
    seeds: Seeds = None,
    steps: Steps = None,
    methods: Methods = None,
    model: Model = None,
    id: Id = None,
    time: Time = None,
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
    With --id and --time, rows belong to things over time: LongitudinalVAE is trained on some histories, and
    tested on others.

    \b
    Examples:
      evenhand compare data.csv
      evenhand compare data.csv --seeds 5 --steps 8000 --page data.html --open
      evenhand compare wine --methods 'imtlg,gradnorm>>pcgrad' training.lr=0.001
      evenhand compare wine --model hivae
      evenhand compare panel.csv --id person --time year
    """
    console: Console = ctx.obj
    check_output(page, "--page")
    check_device(device)
    chosen = split(methods, "--methods")
    for method in chosen or []:
        check_method(method, "--methods")
    options: dict[str, Any] = {"n_seeds": seeds, "steps": steps, "methods": chosen}
    kind = _kind_of_comparison(model, id, time)
    configure = partial(kind, **{k: v for k, v in options.items() if v is not None})
    from ..lab import TableReport, compared

    config = prepare(console, data, schema, configure, overrides or (), header=header, missing=missing)
    folder = train(console, config, out, force=force, device=device)
    found = compared(TableReport(folder.report()))
    show_compared(console, found)
    written = write_page(console, [folder.path], page or folder.path / "report.html", open)
    console.say(f"All files: {folder.path}")
    show_verdict(console, found)
    console.result({"folder": str(folder.path), "page": str(written), **found})


def _kind_of_comparison(model: str | None, id: str | None, time: str | None) -> Callable[..., Any]:
    """What configures a comparison of this model: of single rows, or of histories."""
    kind: Callable[..., Any]
    options: dict[str, Any]
    known = (*FAMILIES, LONGITUDINAL)
    if model is not None and model not in known:
        raise refusal("--model", f"be one of {', '.join(known)}", repr(model), closest(model, known))
    if model not in (None, LONGITUDINAL) and (id or time):
        raise refusal("--model", f"be {LONGITUDINAL} where --id and --time are given", repr(model))
    from ..lab import comparison, panel_comparison

    if model == LONGITUDINAL or id or time:
        check_panel(id, time)
        kind, options = panel_comparison, {"id": id, "time": time}
    else:
        kind, options = comparison, {} if model is None else {"model": model}
    return partial(kind, **options)


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
    from ..lab import PanelExperiment, TableExperiment, from_dict, to_dict

    wanted = find_data(data, schema, header, missing)

    def config(n_rows: int) -> Experiment:
        return from_dict(to_dict(configure(wanted, n_rows)), overrides)

    with arguments():  # a mistake is reported before anything is read
        first = config(1000)
    assert isinstance(first, TableExperiment | PanelExperiment)
    with advising(NAME_A_KIND, frame="DATA"):
        source = _load(first)
    console.say(f"{source.name}: {source.words}.")
    show_rules(console, source.schema, source.conversions, source.note)
    return config(source.size)


def _load(config: OfColumns) -> Any:
    """The table, or the panel, of a config."""
    from ..lab import TableExperiment, load, load_panel

    if isinstance(config, TableExperiment):
        return load(config.data)
    with arguments(**{"data.id": "--id", "data.time": "--time"}):
        return load_panel(config.data)


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
