"""A table read from DATA, and a model fitted to it or read from a file: what `impute` and `sample` begin with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import check_method, find_data
from ._console import BadArgumentError, Console
from ._names import complete_methods
from ._report_words import show_rules

if TYPE_CHECKING:
    from ..tables.estimator import TabularVAE
    from ..tables.schema import Schema

Method = Annotated[
    str, typer.Option("--method", help="'auto' tries many; 'sum' is plain training.", autocompletion=complete_methods)
]
KLWeight = Annotated[str, typer.Option("--kl-weight", help="A number, or 'auto'.")]
Epochs = Annotated[
    int | None, typer.Option("--epochs", min=1, help="How long to train; about 8,000 steps if not given.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")]
SaveModel = Annotated[
    Path | None, typer.Option("--save-model", metavar="FILE", help="Keep the model: FILE.safetensors.")
]


@dataclass(frozen=True)
class Loaded:
    """A table, and what was assumed about it; the schema is None if it is to be inferred."""

    frame: Any
    schema: Schema | None
    conversions: list[str] = field(default_factory=list)
    note: str = ""

    @cached_property
    def known(self) -> Schema:
        """The schema, inferred if none was given."""
        from ..tables.schema import Schema

        return self.schema or Schema.infer(self.frame, unsupported="ignore")


def load_frame(data: str, schema: Path | None) -> Loaded:
    """The table that DATA names."""
    from .. import datasets
    from ..tables.frames import read_file
    from ..tables.schema import Schema

    wanted = find_data(data, schema)
    if wanted.name:
        found = datasets.load(wanted.name)
        return Loaded(found.frame, found.schema, note=found.note)
    file = read_file(wanted.path)
    return Loaded(file.frame, Schema.read(schema) if schema else None, file.conversions)


def fit(console: Console, loaded: Loaded, **options: Any) -> TabularVAE:
    """Learn a table, and say by which rules and how well."""
    from ..tables.estimator import TabularVAE

    schema = loaded.known
    columns = "1 column" if len(schema) == 1 else f"{len(schema)} columns"
    console.say(f"{len(loaded.frame):,} rows, {columns} to learn.")
    show_rules(console, schema, loaded.conversions, loaded.note)
    model = TabularVAE(schema=schema, unsupported="ignore", verbose=console.bars, **options)
    with warnings.catch_warnings():
        # the estimator keeps the best model so far; a command that is interrupted ends
        warnings.filterwarnings("error", message="Interrupted")
        try:
            model.fit(loaded.frame)
        except UserWarning as warning:
            raise KeyboardInterrupt from warning
    console.heading("What was learnt")
    for sentence in model.report().sentences():
        console.say(sentence)
    console.say()
    return model


def load_model(path: Path, what: str) -> TabularVAE:
    """A model that `--save-model` wrote; `what` is the argument that names it."""
    from ..tables.estimator import TabularVAE

    if not path.is_file():
        raise BadArgumentError(f"{what} should be a file that --save-model wrote. Found nothing at {path}.")
    return TabularVAE.load(path)


def refuse_training(what: str, *options: object) -> None:
    """A model that is there is not trained: refuse the options that would say how."""
    if any(option not in (None, "auto") for option in options):
        raise BadArgumentError(f"{what} should stand without options of training. Found some; leave them out.")


def keep_model(console: Console, fitted: TabularVAE, path: Path | None) -> None:
    """Save a model if that is wanted, and say where."""
    if path is not None:
        fitted.save(path)
        console.say(f"Model: {path}")


def fit_options(method: str, kl_weight: str) -> dict[str, Any]:
    """The two arguments as an estimator takes them."""
    if method != "auto":
        check_method(method, "--method", "auto")
    try:
        weight = kl_weight if kl_weight == "auto" else float(kl_weight)
    except ValueError as error:
        raise BadArgumentError(f"--kl-weight should be a number or 'auto'. Found {kl_weight!r}.") from error
    if weight != "auto" and not 0 <= float(weight) < float("inf"):
        raise BadArgumentError(f"--kl-weight should be a number from 0. Found {kl_weight}.")
    return {"method": method, "kl_weight": weight}
