"""A trained model of one table: what answers questions about rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...common import ArgumentError, LatentMixture, check_flag
from ..families import Family
from ..frames import Form, RawTable
from ..inference import draws, encode, log_likelihood, reconstruct, reveal, rows_from_codes, rows_from_prior
from ..schema import Schema
from ..stack import Preparation, Rows
from ._exact import Exact
from ._marginals import match, quantiles
from ._masking import Masking
from ._opinions import Opinions
from ._way import Way

Array = NDArray[np.float64]
LATENT_ROWS = 20_000  # codes of training rows that are kept, and rows that the model's own quantiles are found from
PART = 50_000  # rows that are answered at a time
CONDITIONAL_SAMPLES = 200  # of z, from which rows with given cells are drawn


@dataclass(eq=False)
class Fitted:
    """Everything that a fitted model knows.

    Attributes:
        network: One trained replica, on the CPU.
        preparation: How it sees a table.
        template: A frame without rows, of the kind, columns and types of the table it was fitted to.
        forms: What the values of every column look like.
        seed: Of everything random that is asked for without a seed.
        trivial: The mean or mode of every column, ``[D]``.
        opinions: Who is asked about a hidden cell, and how much everyone counts.
        codes: Latent codes of training rows, ``[n, L]``.
        quantiles: Of the columns, ``[steps, D]``.
        mixture: Fitted to the codes when it is first needed.
        exact: The numbers that a direct way draws, as the table has them.
        masking: How being missing depends on what a cell holds, if that is asked for.
    """

    network: Family
    preparation: Preparation
    template: Any
    forms: Mapping[str, Form]
    seed: int
    trivial: Array
    opinions: Opinions
    codes: Array
    quantiles: Array
    mixture: LatentMixture | None = None
    exact: Exact | None = None
    masking: Masking | None = None
    _own_quantiles: dict[str, Array] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.preparation.schema

    def generator(self, seed: int | None = None) -> torch.Generator:
        """Random numbers; always the same ones without a seed."""
        return torch.Generator().manual_seed(self.seed if seed is None else seed)

    # ---------------------------------------------------------------- rows that are there

    def guess(self, table: RawTable, way: Way) -> Array:
        """The table with its holes filled by best guesses, ``[N, D]``."""
        return _by_parts(table, lambda part: self._guess(part, way))

    def _guess(self, table: RawTable, way: Way) -> Array:
        values = table.values.copy()
        holes = np.flatnonzero(~table.observed.all(1))
        if not len(holes):
            return values
        rows, index, likelihood = self._rows(table), torch.tensor(holes), self.network.likelihood
        network = way.opinion(self.network, rows, index, None, self.generator())[0]
        observed = table.observed[holes]
        cells = np.where(observed, values[holes], np.nan)
        opinion = self.opinions.settle(likelihood, network, cells, ~observed)
        if self.masking is not None:
            opinion = self.masking.of_missing(self.network, rows, index, opinion, way.how)
        values[holes] = likelihood.decide(opinion).numpy()
        return values

    def draws(self, table: RawTable, n: int, *, n_draws: int, weighted: bool, generator: torch.Generator) -> Array:
        """n draws of all cells given those observed, ``[n, N, D]``."""
        if self.network.direct is not None:
            more = None if self.masking is None else self.masking.missing
            return np.stack([self._revealed(table, generator, more) for _ in range(n)])
        found = draws(
            self.network,
            self._rows(table),
            torch.arange(len(table)),
            n_draws=n,
            n_samples=max(n_draws, 2 * n),
            weighted=weighted,
            generator=generator,
        )
        return found[0].numpy()

    def log_likelihood(self, table: RawTable, n_samples: int) -> Array:
        """log p of the observed cells of every row, in the units of the data, ``[N]``."""
        return _by_parts(table, lambda part: self._log_likelihood(part, n_samples))

    def _log_likelihood(self, table: RawTable, n_samples: int) -> Array:
        batch = self.preparation.encode(table, new=True)
        rows, base = self.preparation.rows(batch, self._dtype), self.preparation.base(batch)
        index, options = torch.arange(len(table)), {"n_samples": n_samples}
        found = log_likelihood(self.network, rows, index, base, **options, generator=self.generator())
        return found[0].double().numpy()

    def encode(self, table: RawTable) -> Array:
        """Means of the latent variables of every row, ``[N, L]``."""
        codes = _by_parts(table, lambda part: self._ask(encode, part).double().numpy())
        return codes[:, : self.network.n_latent]  # what belongs to single cells is no code of a row

    def reconstruct(self, table: RawTable) -> Array:
        """Every cell as the model sees it, ``[N, D]``."""
        return _by_parts(table, lambda part: self._ask(reconstruct, part).numpy())

    def _ask(self, what: Callable[..., Tensor], table: RawTable) -> Tensor:
        return what(self.network, self._rows(table), torch.arange(len(table)))[0]

    # ---------------------------------------------------------------- new rows

    def sample(
        self, n: int, table: RawTable | None, latent: str, match_marginals: bool | str, generator: torch.Generator
    ) -> Array:
        """n new rows, or a draw of every row of a table given its observed cells, ``[n, D]``."""
        if match_marginals != "auto":
            check_flag("match_marginals", match_marginals)
        direct = self.network.direct is not None
        if latent == "none" and not direct:
            raise ArgumentError("latent", f"be 'mixture' or 'prior' with model={self.network.name!r}", "'none'")
        if latent == "auto":
            latent = "none" if direct else "mixture"
        values = self.new(n, latent, generator) if table is None else self.given(table, generator)
        as_drawn = latent == "none" if table is None else direct
        if not as_drawn if match_marginals == "auto" else match_marginals:
            values = self.matched(values, latent, generator)
        return values if table is None else np.where(table.observed, table.values, values)

    def new(self, n: int, latent: str, generator: torch.Generator) -> Array:
        """n new rows as drawn, ``[n, D]``."""
        if latent == "none":
            width = len(self.schema)
            nothing = RawTable(np.full((n, width), np.nan), np.zeros((n, width), bool))
            return self._revealed(nothing, generator, self._anyhow)
        seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
        if latent == "prior" or self.network.prior_is_mixture:
            return rows_from_prior(self.network, n, generator)
        if self.mixture is None:
            self.mixture = LatentMixture(100).fit(self.codes, self.seed)
        return rows_from_codes(self.network, self.mixture.sample(n, np.random.default_rng(seed)), generator)

    def given(self, table: RawTable, generator: torch.Generator) -> Array:
        """A draw of every row given its observed cells, ``[N, D]``."""
        if self.network.direct is not None:
            return self._revealed(table, generator, self._anyhow)
        options: dict[str, Any] = {"n_samples": CONDITIONAL_SAMPLES, "weighted": True, "generator": generator}
        return draws(self.network, self._rows(table), torch.arange(len(table)), **options)[0, 0].numpy()

    def matched(self, values: Array, latent: str, generator: torch.Generator) -> Array:
        """New rows with their numbers moved to the same quantiles of the data."""
        if latent not in self._own_quantiles:
            drawn = self.new(LATENT_ROWS, latent, self.generator())
            self._own_quantiles[latent] = quantiles(drawn, np.ones(drawn.shape, bool))
        numeric = [d for d, column in enumerate(self.schema) if column.kind.numeric]
        rng = np.random.default_rng(int(torch.randint(2**31 - 1, (1,), generator=generator)))
        own, data = self._own_quantiles[latent][:, numeric], self.quantiles[:, numeric]
        values = values.copy()
        values[:, numeric] = match(values[:, numeric], own, data, rng)
        return values

    # ---------------------------------------------------------------- inside

    @property
    def _anyhow(self) -> Tensor | None:
        """What draws of cells that nobody took away need more."""
        return None if self.masking is None else self.masking.anyhow

    def _revealed(self, table: RawTable, generator: torch.Generator, more: Tensor | None) -> Array:
        """All cells, those that are missing drawn one after another, ``[N, D]``."""
        values = reveal(self.network, self.preparation, self.preparation.encode(table, new=True), generator, more)
        decoded = self.preparation.preprocessings[0].decode(values)
        return decoded if self.exact is None else self.exact.restore(values.numpy(), decoded)

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.network.parameters()).dtype

    def _rows(self, table: RawTable) -> Rows:
        return self.preparation.rows(self.preparation.encode(table, new=True), self._dtype)


def _by_parts(table: RawTable, answer: Callable[[RawTable], Array]) -> Array:
    """The answers to all rows, some of them at a time: what a model sees of a row is many times as long."""
    parts = [answer(table.rows(slice(i, i + PART))) for i in range(0, max(1, len(table)), PART)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def tensors_of(fitted: Fitted) -> dict[str, Tensor]:
    """All numbers of a fitted model that are stored as tensors, by name."""
    tensors = {f"network.{name}": x for name, x in fitted.network.state_dict().items()}
    tensors |= {"latent": torch.tensor(fitted.codes), "quantiles": torch.tensor(fitted.quantiles)}
    if fitted.opinions.forest is not None:
        tensors |= {f"trees.{name}": torch.tensor(x) for name, x in fitted.opinions.forest.arrays().items()}
    if fitted.exact is not None:
        tensors |= {f"exact.{name}": torch.tensor(x) for name, x in vars(fitted.exact).items()}
    if fitted.masking is not None:
        tensors |= {f"masking.{name}": x for name, x in vars(fitted.masking).items()}
    if fitted.mixture is not None:
        tensors |= {f"mixture.{name}": torch.tensor(x) for name, x in fitted.mixture.state().items()}
    return tensors
