"""A table read from DATA, and a model fitted to it or read from a file: where verbs that learn a table begin."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common import wanted_rate
from ..tables.families import FAMILIES
from ._arguments import (
    MODEL,
    NAME_A_KIND,
    Device,
    Header,
    Missing,
    SchemaOption,
    check_device,
    check_method,
    check_output,
    find_data,
)
from ._console import Console
from ._errors import advising, arguments, refusal
from ._names import complete_methods
from ._report_words import show_rules, too_few

if TYPE_CHECKING:
    from ..tables.estimator import TabularVAE
    from ..tables.frames import TableFile
    from ..tables.longitudinal import LongitudinalVAE
    from ..tables.schema import Schema

Method = Annotated[
    str,
    typer.Option(
        "--method",
        help="'sum' is plain training; 'auto' is that too, or also tries PCGrad where the family has no direct way; "
        "'thorough' tries many.",
        autocompletion=complete_methods,
    ),
]
Family = Annotated[
    str | None,
    typer.Option(
        "--family",
        help=f"The kind of network: {', '.join(FAMILIES)}. The first guesses cells directly, and is the default but "
        "for acquire.",
        show_default=False,
    ),
]
KLWeight = Annotated[
    str, typer.Option("--kl-weight", help="A number, 'auto', or a rate to hold in nats per row: rate:8.")
]
Epochs = Annotated[
    int | None,
    typer.Option("--epochs", min=1, help="How long to train; by default 30, within 3,000 to 12,000 steps."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")]
SaveModel = Annotated[
    Path | None,
    typer.Option("--save-model", metavar="FILE", help="Save the model to FILE, which ends in .safetensors."),
]
SavedModel = Annotated[
    Path | None, typer.Option("--model", metavar="FILE", help="Use a saved model; nothing is trained.")
]


@dataclass(frozen=True)
class Loaded:
    """A table, and what was assumed about it; the schema is None if it is to be inferred."""

    frame: Any
    schema: Schema | None
    conversions: list[str] = field(default_factory=list)
    note: str = ""
    file: TableFile | None = None

    @cached_property
    def known(self) -> Schema:
        """The schema, inferred if none was given."""
        return self.schema or infer(self.frame)


def infer(frame: Any, changes: dict[str, Any] | None = None) -> Schema:
    """The schema of a table, with changes by hand."""
    from ..tables.schema import Schema

    with advising(NAME_A_KIND, frame="DATA"):
        return Schema.infer(frame, changes, unsupported="ignore")


def load_frame(
    console: Console, data: str, schema: Path | None, header: bool | None = None, missing: list[str] | None = None
) -> Loaded:
    """The table that DATA names."""
    console.begin(f"reading {data}")
    from .. import datasets
    from ..tables.frames import read_file
    from ..tables.schema import Schema

    wanted = find_data(data, schema, header, missing)
    if wanted.name:
        found = datasets.load(wanted.name)
        return Loaded(found.frame, found.schema, note=found.note)
    with arguments(header="--header", missing="--missing"):
        file = read_file(wanted.path, header=header, missing=wanted.missing)
    return Loaded(file.frame, Schema.read(schema) if schema else None, file.conversions, file=file)


def fit(console: Console, loaded: Loaded, **options: Any) -> TabularVAE:
    """Fit a model to a table, and print what was assumed and how well each column was learnt."""
    from ..tables.estimator import TabularVAE

    schema = loaded.known
    columns = "1 column" if len(schema) == 1 else f"{len(schema)} columns"
    console.say(f"{len(loaded.frame):,} rows, {columns} to learn.{too_few(len(loaded.frame))}")
    show_rules(console, schema, loaded.conversions, loaded.note)
    model = TabularVAE(schema=schema, unsupported="ignore", verbose=console.bars, **options)
    console.begin("learning the table")
    console.interrupted = lambda: "Nothing was written."
    with warnings.catch_warnings():
        # the estimator keeps the best model so far; a command that is interrupted ends
        warnings.filterwarnings("error", message="Interrupted")
        try:
            model.fit(loaded.frame)
        except UserWarning as warning:
            raise KeyboardInterrupt from warning
    console.interrupted = lambda: ""
    console.heading("What was learnt")
    for sentence in model.report().sentences():
        console.say(sentence)
    console.say()
    return model


def load_model(path: Path, what: str) -> TabularVAE:
    """A model that `--save-model` wrote; `what` is the argument that names it."""
    from ..tables.estimator import TabularVAE

    if not path.is_file():
        raise refusal(what, "be a file that --save-model wrote", f"nothing at {path}")
    return TabularVAE.load(path)


@dataclass(frozen=True)
class Learning:
    """The options of a verb that learns a table: how DATA is read, what is trained, and what is kept."""

    schema: SchemaOption = None
    header: Header = None
    missing: Missing = None
    save_model: SaveModel = None
    family: Family = None
    method: Method = "auto"
    kl_weight: KLWeight = "auto"
    epochs: Epochs = None
    seed: Seed = 0
    device: Device = "auto"

    def options(self) -> dict[str, Any]:
        """What the estimator is made with. Mistakes are refused before any work."""
        check_output(self.save_model, "--save-model", suffix=MODEL)
        check_device(self.device)
        if self.family is not None and self.family not in FAMILIES:
            raise refusal("--family", f"be one of {', '.join(FAMILIES)}", repr(self.family))
        if self.method not in ("auto", "thorough"):
            check_method(self.method, "--method", "auto")
        found = {
            "model": self.family,
            "method": self.method,
            "kl_weight": self.kl_weight if self.kl_weight == "auto" else _kl_weight(self.kl_weight),
            "max_epochs": self.epochs,
            "random_state": self.seed,
            "device": self.device,
        }
        return found if self.family is not None else {k: v for k, v in found.items() if k != "model"}

    def saved(self, path: Path | None) -> TabularVAE | None:
        """The model that --model names, if any."""
        if path is None:
            return None
        self.refuse("--model")
        return load_model(path, "--model")

    def refuse(self, what: str, *also: object) -> None:
        """A saved model is not trained: refuse the options that would say how."""
        of_training = (self.schema, self.save_model, self.family, self.method, self.kl_weight, self.epochs)
        if any(option not in (None, "auto") for option in (*of_training, *also)):
            raise refusal(what, "be used without options of training", "some", "Leave them out.")

    def load(self, console: Console, data: str) -> Loaded:
        """The table that DATA names."""
        return load_frame(console, data, self.schema, self.header, self.missing)

    def keep(self, console: Console, fitted: TabularVAE | LongitudinalVAE) -> None:
        """Save a model if that is wanted, and say where."""
        if self.save_model is not None:
            fitted.save(self.save_model)
            console.say(f"Model: {self.save_model}")


def _kl_weight(text: str) -> float | str:
    if wanted_rate(text) is not None:
        return text
    try:
        weight = float(text)
    except ValueError as error:
        raise refusal("--kl-weight", "be a number, 'auto', or a rate such as 'rate:8'", repr(text)) from error
    if not 0 <= weight < float("inf"):
        raise refusal("--kl-weight", "be a finite number >= 0", text)
    return weight
