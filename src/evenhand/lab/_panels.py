"""One panel: every choice of f with every seed is trained on some histories and measured on others."""

from __future__ import annotations

import platform
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .. import datasets
from ..common import ArgumentError, Tick, read_checkpoint, write_checkpoint
from ..tables.frames import RawTable, read, read_file
from ..tables.inference import column_errors, trivial_guess
from ..tables.longitudinal import LongitudinalVAE, find_schemas, read_panel, to_learn
from ..tables.schema import Schema
from ._config import PanelData, PanelExperiment, to_dict
from ._folder import Folder
from ._measured import plain
from ._splits import TRAIN, VALIDATION, Source
from ._tabular import Choice, choices, one_thread

FEWEST = 20  # histories that can be split
PARTS = ("train", "validation", "test")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class PanelSource(Source):
    """A panel, and what is to be said about where it comes from.

    Attributes:
        frame: All rows.
        histories: The rows of every thing.
    """

    frame: Any = None
    histories: tuple[NDArray[np.intp], ...] = ()

    @property
    def size(self) -> int:
        """What an epoch is counted by."""
        return len(self.histories)

    @property
    def words(self) -> str:
        """How much there is, in words."""
        return super().words.replace(" rows,", f" rows in {len(self.histories):,} histories,")

    def about(self) -> dict[str, Any]:
        """What a report says about the data."""
        return super().about() | {"histories": len(self.histories)}


def load_panel(data: PanelData) -> PanelSource:
    """The panel that a config names; id and time are no columns to learn."""
    frame, schema, name, note, conversions = _from_file(data) if data.path else _public(data.name)
    for argument, column in (("data.id", data.id), ("data.time", data.time)):
        if column not in frame:
            shown = ", ".join(map(repr, list(frame)[:10]))
            raise ArgumentError(argument, f"name a column of the table ({shown})", repr(column))
    if (n := frame[data.id].nunique()) < FEWEST:
        raise ValueError(
            f"data should have at least {FEWEST} histories to train, choose and test on. Found {n}. Is {data.id!r} "
            "the column that says whose a row is?"
        )
    try:
        known = None if schema is None else to_learn(schema, data.id, data.time)
        schema, clock = find_schemas(frame, data.id, data.time, known, "ignore")
        panel = read_panel(frame, data.id, data.time, schema, clock)
    except ArgumentError as error:
        own = {"id": "data.id", "time": "data.time"}
        raise error.about(own.get(error.argument, re.sub("^X", "data", error.argument))) from error
    return PanelSource(panel.table, schema, name, note, conversions, frame, tuple(panel.visits))


Found = tuple[Any, Schema | None, str, str, list[str]]


def _from_file(data: PanelData) -> Found:
    named = {"": None, "yes": True, "no": False}[data.header]
    file = read_file(data.path, header=named, missing=data.missing)
    schema = Schema.read(data.schema) if data.schema else None
    return file.frame, schema, data.path.rpartition("/")[2], "", file.conversions


def _public(name: str) -> Found:
    found = datasets.load(name)
    return found.frame, found.schema, name, found.note, []


class PanelSplit:
    """The rows of a panel for one seed, with what is hidden of those that are not trained on.

    Args:
        source: The panel.
        config: The experiment.
        seed: Of the split. What is hidden does not depend on it.
    """

    def __init__(self, source: PanelSource, config: PanelExperiment, seed: int) -> None:
        self._source, n = source, len(source.histories)
        order = np.random.default_rng(seed).permutation(n)
        ends = [int(TRAIN * n), int((TRAIN + VALIDATION) * n + 1e-9)]
        self.rows = {
            part: np.sort(np.concatenate([source.histories[i] for i in some]))
            for part, some in zip(PARTS, np.split(order, ends), strict=True)
        }
        rng, shape = np.random.default_rng(0), source.table.values.shape
        visits = rng.random((shape[0], 1)) < config.evaluation.hidden_visits
        self.hidden = ((rng.random(shape) < config.evaluation.hidden) | visits) & source.table.observed
        known = np.where(source.table.observed, source.table.values, np.nan)
        self._ranges = torch.tensor(np.fmax.reduce(known) - np.fmin.reduce(known))

    def frame(self, part: str, *, holes: bool = False) -> Any:
        """The rows of a part, with holes if these are wanted."""
        rows = self.rows[part]
        frame = self._source.frame.iloc[rows].reset_index(drop=True)
        if holes:
            for d, name in enumerate(self._source.schema.names):
                frame[name] = frame[name].where(~self.hidden[rows, d])
        return frame

    def errors(self, part: str, guess: Any, *, hidden: bool = False) -> Array:
        """The error of every column, on all or on hidden cells, measured by the range of the whole table."""
        rows, table, schema = self.rows[part], self._source.table, self._source.schema
        truth = np.where(table.observed[rows], table.values[rows], np.nan)
        scored = self.hidden[rows] if hidden else table.observed[rows]
        values = guess if isinstance(guess, np.ndarray) else read(guess, schema).values
        cells, guessed, counted = torch.tensor(truth), torch.tensor(np.array(values)), torch.tensor(scored)
        found: Array = column_errors(cells, guessed, counted, schema, ranges=self._ranges).numpy()
        return found

    def trivial(self) -> dict[str, Any]:
        """Errors of the mean or mode of the training rows."""
        train: RawTable = self._source.table.rows(self.rows["train"])
        guess = trivial_guess(torch.tensor(train.values), torch.tensor(train.observed), self._source.schema)
        everywhere = np.broadcast_to(guess.numpy(), (len(self.rows["test"]), len(guess)))
        names = {"columns": False, "hidden_columns": True}
        return {name: _plain(self.errors("test", everywhere, hidden=hidden)) for name, hidden in names.items()}


def measure(split: PanelSplit, model: LongitudinalVAE, part: str) -> dict[str, Any]:
    """What a trained model reaches on a part: means over columns, and errors by column."""
    whole, holes = split.frame(part), split.frame(part, holes=True)
    columns = split.errors(part, model.reconstruct(whole))
    hidden = split.errors(part, model.transform(holes), hidden=True)
    through_z = split.errors(part, model.reconstruct(holes), hidden=True)
    return {
        "error": float(np.nanmean(columns)),
        "columns": columns.tolist(),
        "rate": float(model.rates(whole).mean()),
        "hidden": float(np.nanmean(hidden)),
        "hidden_columns": hidden.tolist(),
        "hidden_through_z": float(np.nanmean(through_z)),
    }


@one_thread()
def run_panel(
    config: PanelExperiment, folder: Folder, *, device: torch.device, tick: Tick, save_seconds: float = 0.0
) -> dict[str, Any]:
    """Train and measure, always on the CPU; what is measured is the report. What is done is not done again."""
    started = time.monotonic()
    source = load_panel(config.data)
    splits = {seed: PanelSplit(source, config, seed) for seed in config.runs.seeds}
    todo = [(choice, seed) for choice in choices(config.runs) for seed in config.runs.seeds]
    state = read_checkpoint(folder.path, {}) or {}
    done: list[dict[str, Any]] = state.get("done", [])
    share = config.training.epochs / len(todo)
    tick(share * len(done), "resumed" if done else f"{len(todo)} runs")
    for number, (choice, seed) in enumerate(todo[len(done) :], len(done) + 1):
        done.append(_run(config, source, splits[seed], choice, seed))
        tick(share, f"run {number} of {len(todo)}, error {done[-1]['error']:.4f}")
        write_checkpoint(folder.path, {"done": done, "epoch": int(share * number)})
    first = splits[config.runs.seeds[0]]
    return {
        "experiment": "panel",
        "name": config.name,
        "data": source.about() | {f"{part}_rows": len(first.rows[part]) for part in ("train", "test")},
        "schema": source.schema.to_toml(),
        "config": to_dict(config),
        "seeds": list(config.runs.seeds),
        "runs": _by_choice(choices(config.runs), done, len(config.runs.seeds)),
        "trivial": first.trivial(),
        "seconds": {"training": round(time.monotonic() - started, 1)},
        "hardware": platform.processor() or platform.machine(),
    }


def _run(
    config: PanelExperiment, source: PanelSource, split: PanelSplit, choice: Choice, seed: int
) -> dict[str, Any]:
    """One training, and what it reaches on validation and test histories."""
    training = config.training
    unfitted = LongitudinalVAE(
        id=config.data.id,
        time=config.data.time,
        method=choice.method,
        kl_weight=choice.kl_weight,
        schema=source.schema,
        n_latent=config.model.n_latent,
        n_hidden=config.model.n_hidden,
        hide=training.hide,
        hide_visits=training.hide_visits,
        max_epochs=training.epochs,
        batch_size=training.batch_size,
        lr=training.lr,
        random_state=seed,
        verbose=False,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The rate of visits")  # the report has it
        model = unfitted.fit(split.frame("train"))
    chosen_by = measure(split, model, "validation")
    validation = {f"validation_{name}": chosen_by[name] for name in ("error", "hidden")}
    score = (chosen_by["error"] + chosen_by["hidden"]) / 2
    return {"validation": score, **measure(split, model, "test"), **validation}


def _by_choice(found: Sequence[Choice], done: Sequence[Mapping[str, Any]], n: int) -> list[dict[str, Any]]:
    """An entry for every choice, with a list over seeds for every measure."""
    return [
        c.about() | {name: _plain([run[name] for run in done[i * n : (i + 1) * n]]) for name in done[0]}
        for i, c in enumerate(found)
    ]


def _plain(numbers: Any) -> Any:
    return plain(torch.tensor(np.asarray(numbers, dtype=np.float64)))
