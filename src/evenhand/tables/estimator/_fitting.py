"""What fits: a table is prepared, candidates are trained side by side, and the best one is looked at closely."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...common import find_device, missed_rate, misses, wanted_rate
from ..families import FAMILIES, Family, Sizes
from ..frames import RawTable, forms_of
from ..inference import encode, head_gradients, rates_and_bounds, trivial_guess
from ..kinds import TableLikelihood
from ..schema import Schema
from ..stack import Preparation, Run, Stack
from ..trees import MOST_COLUMNS, Forest
from ._candidates import candidates
from ._exact import Exact
from ._fitted import LATENT_ROWS, Fitted
from ._growing import grow_until
from ._held_out import HeldOut
from ._marginals import quantiles
from ._masking import Masking
from ._opinions import CONSTANT, NETWORK, TREES, Opinions, frequencies
from ._progress import progress
from ._search import Search
from ._way import Way

if TYPE_CHECKING:
    from ._tabular_vae import TabularVAE

STEPS = 8_000  # of a training, if max_epochs does not say otherwise
EPOCHS = 30  # at least
DIRECT_STEPS = (3_000, 12_000)  # fewest and most, where there is a direct way: guesses are learnt sooner
NATS = 0.1  # what a nat for each cell counts beside the error of guesses: densities learn on when guesses are learnt
DIRECT_HIDE = 0.4  # of the cells, from 0 to twice this, so that rows are also drawn from next to nothing
SECONDS_OF_TREES = 0.25  # the share of max_seconds that is left to them
MOST_INPUTS = 2_000  # for ridge regression, whose price is their cube
READ_ROWS = 512  # of the held-out rows, on which gradients are read
COUNTED_ROWS = 100_000  # in which categories are counted, and what heads start from
CHECKED_ROWS = 100  # that are looked at for numbers that are not finite
PLAIN = ("sum", "Sum()")  # what plain training is called


@dataclass(frozen=True)
class Outcome:
    """What a fit has found; the fields are the estimator's fitted attributes, without their underscore."""

    fitted: Fitted
    method: str
    kl_weight: float
    selection: list[dict[str, Any]]
    history: list[dict[str, Any]]
    columns: list[dict[str, Any]]
    rate: float
    n_steps: int
    hide: float
    resample: bool
    direct: float


class Fitting:
    """The fit of one table.

    Args:
        options: The estimator, whose arguments say what is wanted.
        frame: The table as it was given.
        schema: Its columns.
        table: Its cells.
        seed: Of everything random.
    """

    def __init__(self, options: TabularVAE, frame: Any, schema: Schema, table: RawTable, seed: int) -> None:
        self._options, self._frame, self._table, self._seed = options, frame, table, seed
        self._device = find_device(options.device)
        order = np.random.default_rng(seed).permutation(len(table))
        n_held_out = int(options.validation_fraction * len(table))
        # too few rows to spare: choose by the rows that are there
        self._few = n_held_out < 10
        held_out, self._train = (order, order) if self._few else (order[:n_held_out], order[n_held_out:])
        family = FAMILIES[options.model]
        self._preparation = Preparation.fit(family, table, schema, [self._train], [seed])
        self._rows = self._preparation.rows(self._preparation.encode(table)).to(self._device)
        self._is_direct = family.guesses_directly
        usual = float(np.clip(1 - float(table.observed.mean()) or 0.2, 0.1, 0.5))
        automatic = DIRECT_HIDE if self._is_direct else usual
        self._hide = automatic if options.hide == "auto" else float(options.hide)
        limits, rate = self._preparation.limits.numpy(), usual if options.hide in ("auto", 0) else self._hide
        self._held_out = HeldOut(table, held_out, schema, limits, rate=rate, seed=seed, device=self._device)
        self._worst = self._held_out.trivial(torch.tensor(self._trivial)) if self._is_direct else None

    def run(self) -> Outcome:
        """Train all candidates, choose, and describe the best."""
        seconds = self._options.max_seconds
        until = math.inf if seconds is None else time.monotonic() + seconds
        search = self._search()
        with progress(self._options.verbose, search) as tick:
            search.tick = tick
            label = search.run()
        if search.interrupted:
            warnings.warn("Interrupted: the best model so far is kept.", stacklevel=4)
        model = search.stack.model
        self._check_learnt(model)
        way, guessed = self._best_way(model, until)
        forest = None if search.interrupted else self._grow(until)
        said = self._asked(model, guessed, forest)
        opinions = self._opinions(model.likelihood, said, forest, way)
        masking = self._masking(model)
        columns = self._describe(model, said, opinions, masking)
        rate = float(self._rates(model, self._held_out.once)[0].mean())
        target = wanted_rate(label["kl_weight"])
        if target is not None and misses(rate, target):
            warnings.warn(missed_rate(rate, target, label["weight"]), stacklevel=4)
        return Outcome(
            fitted=self._fitted(model, opinions, masking),  # from here on the model is on the CPU
            method=label["method"],
            kl_weight=label.get("weight", label["kl_weight"]),
            selection=search.labels,
            history=search.history,
            columns=columns,
            rate=rate,
            n_steps=int(search.stack.steps),
            hide=self._hide,
            resample=way.weighted,
            direct=way.direct,
        )

    # ---------------------------------------------------------------- training

    def _search(self) -> Search:
        options = self._options
        tried = candidates(options.method, options.kl_weight, direct=self._is_direct)
        runs = [Run(self._seed, method, options.lr, weight) for _, method, weight in tried]
        per_epoch = max(1, len(self._train) // min(options.batch_size, len(self._train)))
        epochs = options.max_epochs or self._usual_epochs(per_epoch)
        if options.kl_warm_up and any(wanted_rate(weight) for _, _, weight in tried):
            raise ValueError(f"kl_warm_up should be 0 where kl_weight holds a rate. Found {options.kl_warm_up}.")
        if options.kl_warm_up > epochs:
            raise ValueError(
                f"kl_warm_up should be at most the {epochs} epochs of training. Found {options.kl_warm_up}."
            )
        stack = Stack(
            self._network([run.seed for run in runs]),
            runs,
            self._rows,
            torch.tensor(self._train)[None],
            objective=options.objective,
            n_samples=options.n_samples,
            batch_size=options.batch_size,
            dropout=0.0,
            hide=self._hide,
            kl_warm_up=options.kl_warm_up * per_epoch,
            decay=epochs * per_epoch,
        )
        return Search(
            stack,
            epochs * per_epoch,
            score=lambda: self._held_out.score(stack.model, self._rows, self._worst),
            rate=lambda: self._rates(stack.model, self._held_out.once)[0].mean(-1),
            labels=[{"method": name, "kl_weight": weight, "chosen": False} for name, _, weight in tried],
            always=[i for i, (name, _, _) in enumerate(tried) if name in PLAIN],
            patience=options.patience,
            beside=(lambda: self._nats(stack.model)) if self._is_direct else None,
            max_seconds=self._seconds_of_network,
        )

    @property
    def _seconds_of_network(self) -> float | None:
        seconds = self._options.max_seconds
        return seconds if seconds is None or not self._grows_trees else (1 - SECONDS_OF_TREES) * seconds

    def _nats(self, model: Family) -> Tensor:
        """What the densities of both ways lack, for every replica, beside the errors of guesses."""
        bounds = self._rates(model, self._held_out.once)[1].mean(-1) / len(self._preparation.schema)
        lacking = self._held_out.direct_loss(model, self._rows) - bounds
        return NATS * lacking.nan_to_num(nan=torch.inf)

    def _usual_epochs(self, per_epoch: int) -> int:
        if self._is_direct:
            return math.ceil(min(max(EPOCHS * per_epoch, DIRECT_STEPS[0]), DIRECT_STEPS[1]) / per_epoch)
        return max(EPOCHS, STEPS // per_epoch)

    def _network(self, seeds: list[int]) -> Family:
        """Untrained candidates whose heads start from the marginal distributions; the paper's start from zero."""
        options, usual = self._options, self._preparation.family.usual
        sizes = Sizes(options.n_latent, options.n_hidden or usual.n_hidden, options.n_layers or usual.n_layers)
        network = self._preparation.network(self._rows.n_inputs, seeds, sizes=sizes)
        _, targets, mask = self._rows.split(self._rows.record[self._train_index[:COUNTED_ROWS]])
        network.start_from(network.likelihood.to(self._device).marginal(targets, mask))
        return network

    @cached_property
    def _train_index(self) -> Tensor:
        return torch.tensor(self._train, device=self._device)

    # ---------------------------------------------------------------- a closer look at the best

    def _generator(self) -> torch.Generator:
        return torch.Generator(self._device).manual_seed(self._seed)

    def _rates(self, model: Family, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return rates_and_bounds(model, self._rows, index, generator=self._generator())

    def _check_learnt(self, model: Family) -> None:
        """Name the columns whose likelihood is not a number."""
        by_column = self._rates(model, self._held_out.once[:CHECKED_ROWS])[2][0]
        broken = [model.likelihood.names[d] for d in torch.nonzero(~by_column.isfinite()).flatten().tolist()]
        if broken or not all(bool(p.isfinite().all()) for p in model.parameters()):
            raise FloatingPointError(
                f"Training diverged at column {', '.join(broken) or 'unknown'}. Look for extreme values there, give "
                f"the column another kind in the schema, or lower lr (now {self._options.lr:g})."
            )

    def _best_way(self, model: Family, until: float) -> tuple[Way, Tensor]:
        """The way with the smallest error on held-out cells, and what it says of them.

        Directly, through z (weighted or not), or both; as many are tried as there is time for, one at least.
        """
        options = self._options
        wanted = (False, True) if options.resample == "auto" else (bool(options.resample),)
        ways = [Way(0.0, options.aggregate, options.n_draws, weighted) for weighted in wanted]
        if self._is_direct:
            shares = (1.0, 0.5) if options.aggregate == "mean" else (1.0,)  # medians and modes do not add up
            ways = [replace(way, direct=share) for share in shares for way in ways]
        best, least = None, math.inf
        for way in ways:
            said = self._opinion(model, way)
            error = float(self._held_out.errors(model.likelihood.decide(said)).mean())
            if best is None or error < least:
                best, least = (way, said), error
            if time.monotonic() > until:
                break
        assert best is not None  # there is a way
        return best

    def _opinion(self, model: Family, way: Way) -> Tensor:
        return self._held_out.opinion(model, self._rows, way, self._generator())[0]

    @cached_property
    def _trivial(self) -> NDArray[np.float64]:
        """The mean or mode of every column; of all rows where the training rows have no value."""
        seen, overall = (
            trivial_guess(torch.tensor(t.values), torch.tensor(t.observed), self._preparation.schema).numpy()
            for t in (self._table.rows(self._train), self._table)
        )
        return np.where(np.isnan(seen), overall, seen)

    def _grow(self, until: float) -> Forest | None:
        """Boosted trees on the training rows; as many as there is time for."""
        if not self._grows_trees:
            return None
        return grow_until(until, self._table.rows(self._train), self._preparation.schema, self._seed)

    @property
    def _grows_trees(self) -> bool:
        """Whether trees are wanted, and there are rows to weigh them by and columns for them to look at."""
        return self._options.trees and not self._few and 1 < len(self._preparation.schema) <= MOST_COLUMNS

    def _asked(self, model: Family, guessed: Tensor, forest: Forest | None) -> Tensor:
        """What network, trees and means say of held-out cells, ``[3, n, T]``; the network has said it."""
        likelihood, table = model.likelihood, self._table.rows(self._train[:COUNTED_ROWS])
        known = (torch.tensor(x, device=self._device) for x in (self._trivial, table.values, table.observed))
        network, constant = guessed.double(), frequencies(likelihood, *known)
        trees = self._held_out.ask(forest, likelihood, len(network))
        return torch.stack([network, trees, constant.expand_as(trees)])

    def _opinions(self, likelihood: TableLikelihood, said: Tensor, forest: Forest | None, way: Way) -> Opinions:
        """How much everyone counts, by the errors of what they said of held-out cells."""
        asked = np.array([forest is not None and d in forest.columns for d in range(likelihood.n)])
        weights = self._held_out.weigh(likelihood, said, asked)
        if way.how != "mean":  # a median or a mode is wanted as it is
            numeric = [d for d, column in enumerate(self._preparation.schema) if column.kind.numeric]
            weights[:, numeric] = np.eye(3)[NETWORK][:, None]
        return Opinions(weights, said[CONSTANT, 0].cpu().numpy(), forest)

    def _describe(
        self, model: Family, said: Tensor, opinions: Opinions, masking: Masking | None
    ) -> list[dict[str, Any]]:
        """What is known about every column, from what was said of held-out cells ``[3, n, T]``."""
        trivial, held_out, schema = torch.tensor(self._trivial), self._held_out, self._preparation.schema
        likelihood, nobody = model.likelihood, np.zeros(len(schema), bool)
        alone = replace(opinions, weights=held_out.weigh(likelihood, said, nobody))
        measures = {
            "error": held_out.errors(opinions.decide(likelihood, *said[:CONSTANT])).tolist(),
            "network_error": held_out.errors(alone.decide(likelihood, *said[:CONSTANT])).tolist(),
            "trivial_error": held_out.trivial(trivial).tolist(),
            "trees": opinions.weights[TREES].tolist(),
            "gradient_share": head_gradients(model, self._rows, held_out.once[:READ_ROWS]).shares[0].tolist(),
            "log_likelihood": self._likelihood_by_column(model),
        }
        if self._rows.n_inputs <= MOST_INPUTS:
            measures["ridge_error"] = held_out.rival(likelihood, self._rows, self._train_index).tolist()
        if masking is not None:
            measures["missing_effect"] = masking.effects[likelihood.inverse.cpu()].tolist()
        trees, grown = held_out.errors(likelihood.decide(said[TREES])).tolist(), opinions.grown
        return [
            {"column": column.name, "kind": str(column.kind)}
            | {name: values[d] for name, values in measures.items()}
            | ({"tree_error": trees[d]} if d in grown else {})
            for d, column in enumerate(schema)
        ]

    def _likelihood_by_column(self, model: Family) -> list[float]:
        """Mean log p(x_d|z) of the cells observed, in the units of the data."""
        index = self._held_out.once
        batch = self._preparation.encode(self._table.rows(index.cpu().numpy()))
        known = batch.mask[:, model.likelihood.order]
        base = torch.where(known, self._preparation.base(batch), 0.0).sum(0) / known.sum(0).clamp(min=1)
        by_column = self._rates(model, index)[2][0].cpu() + base
        return by_column[model.likelihood.inverse.cpu()].tolist()

    def _exact(self, model: Family) -> Exact | None:
        if model.direct is None:
            return None
        table = self._table.rows(self._train)
        return Exact.of(model.direct, model.likelihood, self._preparation.encode(table), table)

    def _masking(self, model: Family) -> Masking | None:
        """How being missing depends on what a cell holds, if that is asked for."""
        if self._options.missing == "at_random":
            return None
        return Masking.fit(model, self._rows, torch.arange(len(self._rows), device=self._device))

    def _fitted(self, model: Family, opinions: Opinions, masking: Masking | None) -> Fitted:
        some = torch.tensor(self._train[:LATENT_ROWS], device=self._device)
        codes = encode(model, self._rows, some, generator=self._generator())[0]
        return Fitted(
            network=model.cpu().eval(),
            preparation=self._preparation,
            template=self._frame[:0],
            forms=forms_of(self._frame, self._preparation.schema),
            seed=self._seed,
            trivial=self._trivial,
            opinions=opinions,
            codes=codes.cpu().numpy(),
            quantiles=quantiles(self._table.values, self._table.observed),
            exact=self._exact(model),
            masking=masking,
        )
