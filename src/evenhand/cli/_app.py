"""The application: global options, and the verbs in the order of a tour."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ._acquire import acquire
from ._compare import compare
from ._console import Console
from ._datasets import app as datasets
from ._diagnose import diagnose
from ._errors import failures
from ._impute import impute
from ._reproduce import reproduce
from ._results import results
from ._run import report, run
from ._sample import sample
from ._schema import schema

ANYWHERE = ("--quiet", "-q", "--json")  # options that may also follow the verb


class _Group(TyperGroup):
    """All verbs; their errors are reported in one place."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.obj = Console(command=shlex.join(["evenhand", *args]))
        first = [arg for arg in args[:end] if arg in ANYWHERE]
        return super().parse_args(ctx, first + [arg for arg in args[:end] if arg not in ANYWHERE] + args[end:])

    def invoke(self, ctx: Any) -> Any:
        with failures(ctx.obj), ctx.obj.speaking():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        from .. import __version__

        typer.echo(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def evenhand(
    ctx: typer.Context,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train VAEs that neglect no column and no modality, and reproduce the paper.

    Start with a table of your own; there are no questions to answer, and every assumption is printed:

    \b
      evenhand compare data.csv

    --quiet and --json may also follow the verb. Exit codes: 0 done, 1 the work failed, 2 bad arguments,
    130 interrupted. EVENHAND_DEBUG=1 shows where an error comes from.
    """
    ctx.obj.quiet, ctx.obj.json = quiet, json


for verb in (compare, diagnose, schema, impute, sample, acquire, run, report, reproduce, results):
    app.command()(verb)
app.add_typer(datasets, name="datasets")
