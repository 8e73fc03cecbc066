"""A table as an experiment has it: read, split for every seed, and on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import datasets
from ..tables.families import FAMILIES, Family, Sizes
from ..tables.frames import RawTable, check_extremes, read, read_file
from ..tables.inference import column_errors
from ..tables.schema import Schema
from ..tables.stack import Preparation, Rows
from ._config import Data, Model, TableExperiment

TRAIN, VALIDATION = 0.7, 0.1  # shares of the rows; the rest is tested on
FEWEST, ENOUGH = 20, 100  # rows of a table that can be split, and those that are needed to rely on what is found


@dataclass(frozen=True)
class Source:
    """A table, and what is to be said about where it comes from."""

    table: RawTable
    schema: Schema
    name: str
    note: str = ""
    conversions: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """What an epoch is counted by."""
        return len(self.table)

    @property
    def words(self) -> str:
        """How much there is, in words."""
        n = len(self.schema)
        return f"{len(self.table):,} rows, {n} column{'s' if n > 1 else ''} to learn"

    def about(self) -> dict[str, Any]:
        """What a report says about the data."""
        columns = list(self.schema)
        return {
            "name": self.name,
            "rows": len(self.table),
            "missing": float(1 - self.table.observed.mean()),
            "columns": [c.name for c in columns],
            "kinds": [str(c.kind) for c in columns],
            "reasons": [c.reason for c in columns],
            "ignored": dict(self.schema.ignored),
            "conversions": self.conversions,
            "note": self.note,
        }


def load(data: Data) -> Source:
    """The table that a config names."""
    source = _from_file(data) if data.path else _public(data.name)
    n = len(source.table)
    if data.rows > n:
        raise ValueError(f"data.rows should be at most the {n} rows that there are. Found {data.rows}.")
    if (data.rows or n) < FEWEST:
        raise ValueError(
            f"data should have at least {FEWEST} rows to train, choose and test on. Found {data.rows or n}."
        )
    if n < ENOUGH:
        few = f"Only {n} rows: too few to rely on. What is found on so few test rows is mostly chance."
        source = replace(source, note=f"{source.note} {few}".strip())
    if data.rows and data.rows < n:
        some = np.sort(np.random.default_rng(0).permutation(n)[: data.rows])
        note = f"{source.note} {data.rows} of {n} rows, taken at random.".strip()
        return Source(source.table.rows(some), source.schema, source.name, note, source.conversions)
    return source


def _public(name: str) -> Source:
    found = datasets.load(name)
    return Source(read(found.frame, found.schema), found.schema, name, found.note)


def _from_file(data: Data) -> Source:
    named = {"": None, "yes": True, "no": False}[data.header]
    file = read_file(data.path, header=named, missing=data.missing)
    if data.schema:
        schema = Schema.read(data.schema)
    else:
        schema = Schema.infer(file.frame, unsupported="ignore")
    table = read(file.frame, schema)
    check_extremes(table, schema)
    return Source(table, schema, Path(data.path).name, conversions=file.conversions)


class Splits:
    """The table prepared for the split of every seed, concatenated on the device."""

    def __init__(self, source: Source, config: TableExperiment, device: str | torch.device) -> None:
        self.schema, self.device = source.schema, torch.device(device)
        self.seeds = list(config.runs.seeds)
        self._model: Model = config.model
        table, self.n = source.table, len(source.table)
        bounds = [int(TRAIN * self.n), int((TRAIN + VALIDATION) * self.n + 1e-9)]
        self.parts = [np.split(np.random.default_rng(s).permutation(self.n), bounds) for s in self.seeds]
        self.preparation = Preparation.fit(
            FAMILIES[config.model.name],
            table,
            source.schema,
            [parts[0] for parts in self.parts],
            self.seeds,
            positive=config.data.positive,
            encoding=config.data.encoding,
            within_limits=config.model.within_range,
            parameters=config.model.parameters,
            see_mask=config.training.see_mask,
            scaling=config.data.preprocessing or "deviation",
        )
        self.limits = self.preparation.limits
        self.truth = torch.tensor(np.where(table.observed, table.values, np.nan), device=device)
        batches = [self.preparation.encode(table, split) for split in range(len(self.seeds))]
        self.rows = Rows.join([self.preparation.rows(batch) for batch in batches]).to(device)
        self.base = torch.cat([self.preparation.base(b, split) for split, b in enumerate(batches)]).to(device)

    def index(self, part: int, replica_seeds: Sequence[int]) -> Tensor:
        """Rows of a part of the split (0 train, 1 validation, 2 test) for every replica."""
        rows = [self.seeds.index(s) * self.n + self.parts[self.seeds.index(s)][part] for s in replica_seeds]
        return torch.tensor(np.stack(rows), device=self.device)

    def network(self, replica_seeds: Sequence[int]) -> Family:
        """Untrained replicas, each with the units of its split."""
        family, splits = self.preparation.family, [self.seeds.index(s) for s in replica_seeds]
        n_latent = max(1, int(self._model.latent_share * len(self.schema) + 0.5))
        sizes = Sizes(n_latent if family.default.n_latent is None else None, self._model.n_hidden)
        network = self.preparation.network(self.rows.n_inputs, replica_seeds, splits, sizes).to(self.device)
        if self._model.from_marginals:
            parts = [self.rows.split(self.rows.record[index]) for index in self.index(0, self.seeds)]
            starts = [network.likelihood.marginal(targets, mask) for _, targets, mask in parts]
            network.start_from(torch.stack([starts[split] for split in splits]))
        return network

    def errors(self, guess: Tensor, part: int, replica_seeds: Sequence[int], scored: Tensor | None = None) -> Tensor:
        """The paper's error of every replica and column, ``[R, D]``; NaN where nothing is scored."""
        ranges = (self.limits[1] - self.limits[0]).to(self.device) if self._model.within_range else None
        found = torch.empty(len(guess), guess.shape[-1], dtype=torch.float64, device=self.device)
        for s, seed in enumerate(self.seeds):
            mine = [r for r, other in enumerate(replica_seeds) if other == seed]
            truth = self.truth[torch.tensor(self.parts[s][part], device=self.device)]
            cells = torch.isfinite(truth) if scored is None else torch.isfinite(truth) & scored
            if mine:
                found[mine] = column_errors(truth, guess[mine], cells, self.schema, ranges=ranges)
        return found
