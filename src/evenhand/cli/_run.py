"""`evenhand run` and `evenhand report`: one experiment, and its page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import Device, Force, Open, Out, Overrides, check_device, check_output
from ._compare import train, write_page
from ._console import BadArgumentError, Console, arguments

if TYPE_CHECKING:
    from ..lab import Table


def run(
    ctx: typer.Context,
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="An experiment.", show_default=False)],
    overrides: Overrides = None,
    out: Out = Path("runs"),
    force: Force = False,
    device: Device = "auto",
) -> None:
    """Run one experiment.

    Prints what was reached, and the directory with the report, the history and the weights. What is done is not
    done again; what was interrupted goes on where it was. `reproduce --configs` writes the paper's configs.

    \b
    Examples:
      evenhand run hi-vae-elbo.toml
      evenhand run hi-vae-elbo.toml training.epochs=10 runs.seeds=[0,1] --force
    """
    from ..lab import read_config

    console: Console = ctx.obj
    check_device(device)
    with arguments():
        experiment = read_config(config, overrides or ())
    folder = train(console, experiment, out, force=force, device=device)
    reached = folder.report()
    console.say(what_was_reached(reached).to_text())
    for sentence in reached.get("sentences", []):
        console.say(sentence)
    console.say(f"Directory: {folder.path}")
    console.result({"folder": str(folder.path), "report": reached})


def what_was_reached(report: dict[str, Any]) -> Table:
    """The table of one report."""
    from ..lab import coherence_by_objective, controls

    if report["experiment"] == "table":
        return controls([report], published=False)
    objective = report["config"]["objective"]["name"]
    return coherence_by_objective([report], objective, data=report["data"]["name"], published=False)


def report(
    ctx: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="The directory of a finished run, or of several.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page; report.html in the first DIR if not given."),
    ] = None,
    open: Open = False,
) -> None:
    """Write the page of a finished run, or of several.

    The page is one HTML file that needs no network: what came of it, every column, every choice of f, conflicts,
    and generated rows or samples. Runs of multimodal models can stand side by side on a page.

    \b
    Examples:
      evenhand report runs/hi-vae-elbo-439b0501 --open
      evenhand report runs/mnist_svhn_text-mmvae-* -o mmvae.html
    """
    from ..lab import open_folder

    console: Console = ctx.obj
    check_output(output, "--output")
    with arguments():
        for path in folders:
            state = open_folder(path).state
            if state != "done":
                raise BadArgumentError(f"DIR should hold a finished run. {path} is {state}; run it to its end first.")
    written = write_page(console, folders, output or folders[0] / "report.html", open)
    console.result({"page": str(written)})
