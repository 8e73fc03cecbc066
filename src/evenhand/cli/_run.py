"""`evenhand run` and `evenhand report`: one experiment, and its page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._arguments import Device, Force, Open, Out, Overrides, check_device, check_output
from ._compare import train, write_page
from ._console import Console
from ._errors import arguments, refusal


def run(
    ctx: typer.Context,
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="An experiment.", show_default=False)],
    overrides: Overrides = None,
    out: Out = Path("runs"),
    force: Force = False,
    device: Device = "auto",
) -> None:
    """Run one experiment.

    Prints the results, and the directory with the report, the history and the weights. A finished run is not
    repeated; an interrupted one resumes. `reproduce --configs` writes the paper's configs.

    \b
    Examples:
      evenhand run hi-vae-elbo.toml
      evenhand run hi-vae-elbo.toml training.epochs=10 runs.seeds=[0,1] --force
    """
    from ..lab import reached, read_config

    console: Console = ctx.obj
    check_device(device)
    if not config.is_file():
        raise refusal("CONFIG.toml", "be a file", f"none at {config}")
    with arguments():
        experiment = read_config(config, overrides or ())
    folder = train(console, experiment, out, force=force, device=device)
    found = folder.report()
    console.say(reached(found).to_text())
    for sentence in found.get("sentences", []):
        console.say(sentence)
    console.say(f"Directory: {folder.path}")
    console.result({"folder": str(folder.path), "report": found})


def report(
    ctx: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="The directory of a finished run, or of several.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page; report.html in the first DIR by default."),
    ] = None,
    open: Open = False,
) -> None:
    """Write the page of a finished run, or of several.

    The page is one HTML file that needs no network: the result, every column, every method, conflicts, and
    generated rows or samples. Runs of multimodal models can be shown side by side on one page.

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
            if not path.is_dir():
                raise refusal("DIR", "be the directory of a run", f"none at {path}")
            state = open_folder(path).state
            if state != "done":
                raise refusal("DIR", "hold a finished run", f"that {path} is {state}", "Let it finish first.")
    written = write_page(console, folders, output or folders[0] / "report.html", open)
    console.result({"page": str(written)})
