"""A table as an experiment has it: read, split for every seed, and on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import datasets
from ..tables.families import HIVAE, VAE
from ..tables.frames import RawTable, read, read_file
from ..tables.inference import column_errors
from ..tables.kinds import Preprocessing, TableLikelihood
from ..tables.schema import Schema
from ..tables.stack import Rows
from ._config import Data, Model, TableExperiment

TRAIN, VALIDATION = 0.7, 0.1  # shares of the rows; the rest is tested on
FEWEST = 20  # rows of a table that can be split


@dataclass(frozen=True)
class Source:
    """A table, and what is to be said about where it comes from."""

    table: RawTable
    schema: Schema
    name: str
    note: str = ""
    conversions: list[str] = field(default_factory=list)

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
    if data.rows and data.rows < n:
        some = np.sort(np.random.default_rng(0).permutation(n)[: data.rows])
        note = f"{source.note} {data.rows} of {n} rows, taken at random.".strip()
        return Source(source.table.rows(some), source.schema, source.name, note, source.conversions)
    return source


def _public(name: str) -> Source:
    found = datasets.load(name)
    return Source(read(found.frame, found.schema), found.schema, name, found.note)


def _from_file(data: Data) -> Source:
    file = read_file(data.path)
    if data.schema:
        schema = Schema.read(data.schema)
    else:
        schema = Schema.infer(file.frame, unsupported="ignore")
    return Source(read(file.frame, schema), schema, Path(data.path).name, conversions=file.conversions)


class Splits:
    """The table preprocessed for the split of every seed, one below the other on the device."""

    def __init__(self, source: Source, config: TableExperiment, device: str | torch.device) -> None:
        self.schema, self.device = source.schema, torch.device(device)
        self.seeds = list(config.runs.seeds)
        self._model: Model = config.model
        table, self.n = source.table, len(source.table)
        bounds = [int(TRAIN * self.n), int((TRAIN + VALIDATION) * self.n + 1e-9)]
        self.parts = [np.split(np.random.default_rng(s).permutation(self.n), bounds) for s in self.seeds]
        hivae = config.model.name == "hivae"
        self.preprocessings = [
            Preprocessing.fit(
                table.rows(parts[0]), source.schema, seed=s, positive="log1p" if hivae else config.data.positive
            )
            for s, parts in zip(self.seeds, self.parts, strict=True)
        ]
        known = np.where(table.observed, table.values, np.nan)
        limits = np.stack([np.fmin.reduce(known), np.fmax.reduce(known)])
        self.limits = torch.tensor(np.nan_to_num(limits))  # 0 for a column without a value
        self.truth = torch.tensor(known, device=device)
        batches = [p.encode(table) for p in self.preprocessings]
        likelihood = self._likelihood(self.preprocessings[:1])
        encoded = [
            Rows.encode(
                batch,
                likelihood,
                encoding="hivae" if hivae else config.data.encoding,
                see_mask=config.training.see_mask,
            )
            for batch in batches
        ]
        self.rows = Rows.join(encoded).to(device)
        pairs = zip(batches, self.preprocessings, strict=True)
        self.base = torch.cat([likelihood.base(b.values, p) for b, p in pairs]).to(device)

    def _likelihood(self, preprocessings: Sequence[Preprocessing]) -> TableLikelihood:
        limits = self.limits if self._model.within_range else None
        return TableLikelihood(self.schema, preprocessings, limits=limits, parameters=self._model.parameters)

    def index(self, part: int, replica_seeds: Sequence[int]) -> Tensor:
        """Rows of a part of the split (0 train, 1 validation, 2 test) for every replica."""
        rows = [self.seeds.index(s) * self.n + self.parts[self.seeds.index(s)][part] for s in replica_seeds]
        return torch.tensor(np.stack(rows), device=self.device)

    def network(self, replica_seeds: Sequence[int]) -> VAE | HIVAE:
        """Untrained replicas, each with the units of its split."""
        likelihood = self._likelihood([self.preprocessings[self.seeds.index(s)] for s in replica_seeds])
        if self._model.name == "hivae":
            return HIVAE(self.rows.n_inputs, likelihood, seeds=replica_seeds).to(self.device)
        n_latent = max(1, int(self._model.latent_share * len(self.schema) + 0.5))
        network = VAE(
            self.rows.n_inputs, likelihood, seeds=replica_seeds, n_latent=n_latent, n_hidden=self._model.n_hidden
        ).to(self.device)
        if self._model.from_marginals and network.head.bias is not None:
            parts = [self.rows.split(self.rows.record[index]) for index in self.index(0, self.seeds)]
            starts = [network.likelihood.marginal(targets, mask) for _, targets, mask in parts]
            network.head.bias.data = torch.stack([starts[self.seeds.index(s)] for s in replica_seeds])
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
