"""A network that was trained on histories, with everything that new histories need."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...common import ArgumentError, Tick, seeded
from ...impartial import method_of
from ..frames import RawTable
from ..kinds import Preprocessing, TableLikelihood
from ..schema import Schema
from ..stack import Rows
from ._guess import expectations, imagined, rates
from ._histories import Array, Clock, Histories
from ._line import best_shares, mixed, on_the_line
from ._network import HistoryVAE
from ._panel import Panel
from ._training import Held, Recipe, Training
from ._visits import Visits

if TYPE_CHECKING:
    from ._longitudinal_vae import LongitudinalVAE

STEPS, FEWEST_EPOCHS = 2000, 10  # of a training whose length the user leaves open
FEWEST_HISTORIES = 2  # one to learn from, one to stop by
AT_ONCE = 512  # histories that are guessed together
ENDS = 8  # visits of a history, the last ones, that are forecast to weigh forecasts


@dataclass(eq=False)
class Fitted:
    """What was learnt.

    Attributes:
        network: The trained network.
        preprocessing: The units of cells.
        clock: The unit of time.
        patterns: The times of every training history, from which new histories take theirs.
        limits: Smallest and largest value of every column, ``[2, D]``, which guesses and draws never leave.
        shares: How far guesses of every column go from the line between the nearest cells towards the network.
        shares_ahead: The same for forecasts, where the line is the last cell.
    """

    network: HistoryVAE
    preprocessing: Preprocessing
    clock: Clock
    patterns: list[Array]
    limits: Tensor
    shares: Array
    shares_ahead: Array

    def guess(
        self, table: RawTable, times: Array, visits: Sequence[NDArray[np.intp]], *, ahead: bool = False
    ) -> Array:
        """The best guess of every cell in the units of the data, ``[N, D]``; as a forecast if it is one."""
        schema, shares = self.preprocessing.schema, self.shares_ahead if ahead else self.shares
        return mixed(self.say(table, times, visits), on_the_line(table, times, visits, schema), shares, schema)

    def say(self, table: RawTable, times: Array, visits: Sequence[NDArray[np.intp]], *, direct: bool = True) -> Array:
        """What the network says of every cell, directly or through z, ``[N, D]``."""
        values = np.zeros_like(table.values)
        for seen in self._seen(table, times, visits):
            histories = seen.histories
            found = self.network.likelihood.decide(expectations(self.network, seen, seen.mask, direct=direct))
            values[histories.rows[histories.present].numpy()] = found[histories.present].numpy()
        return values

    def rates(self, panel: Panel) -> Array:
        """KL(q || p) of every row in nats, ``[N]``."""
        found = np.zeros(len(panel.table))
        for seen in self._seen(panel.table, panel.times, panel.visits):
            histories = seen.histories
            found[histories.rows[histories.present].numpy()] = rates(self.network, seen, seen.mask).numpy()
        return found

    def weigh(self, panel: Panel, visits: Sequence[NDArray[np.intp]], hidden: NDArray[np.bool_]) -> None:
        """Choose the shares by what is hidden of histories that were held out.

        Args:
            panel: All rows.
            visits: The rows of the histories.
            hidden: Which cells the network was not shown, ``[N, D]``.
        """
        self.shares = self._best_shares(panel.table, panel.times, visits, hidden)
        begun, last = _beginnings(visits)
        if begun:
            rows = np.concatenate(begun)
            again = np.split(np.arange(len(rows)), np.cumsum([len(some) for some in begun])[:-1])
            table = RawTable(panel.table.values[rows], panel.table.observed[rows])
            self.shares_ahead = self._best_shares(table, panel.times[rows], again, last)

    def _best_shares(
        self, table: RawTable, times: Array, visits: Sequence[NDArray[np.intp]], hidden: NDArray[np.bool_]
    ) -> Array:
        shown, schema = RawTable(table.values, table.observed & ~hidden), self.preprocessing.schema
        line, said = on_the_line(shown, times, visits, schema), self.say(shown, times, visits)
        return best_shares(table.values, said, line, hidden & table.observed, schema)

    def forecast(self, panel: Panel, times: Array) -> Array:
        """The cells of one more visit of every history at these times, ``[N, D]``."""
        old, n, width = len(panel.table), len(times), panel.table.values.shape[1]
        values = np.concatenate([panel.table.values, np.zeros((n, width))])
        observed = np.concatenate([panel.table.observed, np.zeros((n, width), bool)])
        visits = [np.append(rows, old + i) for i, rows in enumerate(panel.visits)]
        both = np.concatenate([panel.times, times])
        return self.guess(RawTable(values, observed), both, visits, ahead=True)[old:]

    def sample(self, n: int, generator: torch.Generator) -> tuple[list[int], Array, Array]:
        """Ids, times and cells of the visits of n new histories."""
        chosen = [self.patterns[i] for i in torch.randint(len(self.patterns), (n,), generator=generator).tolist()]
        times = np.concatenate(chosen)
        ends = np.cumsum([len(pattern) for pattern in chosen])
        visits = np.split(np.arange(len(times)), ends[:-1])
        histories = Histories.of(visits, times, self.clock, self._dtype)
        values = imagined(self.network, histories.clock, generator)[histories.present].numpy()
        return [i for i, pattern in enumerate(chosen) for _ in pattern], times, values

    def _seen(self, table: RawTable, times: Array, visits: Sequence[NDArray[np.intp]]) -> Iterator[Visits]:
        """Histories as the network sees them, some at a time."""
        batch = self.preprocessing.encode(table, new=True)
        rows = Rows.encode(batch, self.network.likelihood, see_mask=True, dtype=self._dtype)
        for start in range(0, len(visits), AT_ONCE):
            yield Visits.of(Histories.of(visits[start : start + AT_ONCE], times, self.clock, self._dtype), rows)

    @property
    def _dtype(self) -> torch.dtype:
        return self.network.start.dtype


def fit_panel(
    estimator: LongitudinalVAE, panel: Panel, schema: Schema, seed: int, tick: Tick
) -> tuple[Fitted, list[dict[str, Any]]]:
    """Train a network as the arguments of an estimator say; what was learnt, and the validations."""
    train, held = _split(len(panel.visits), estimator.validation_fraction, seed)
    clock = Clock.fit(panel.times, panel.visits)
    units = Preprocessing.fit(panel.table, schema, positive="centred")
    limits = _limits(panel.table)
    likelihood = TableLikelihood(schema, [units], limits=limits, parameters="moments")
    rows = Rows.encode(units.encode(panel.table), likelihood, see_mask=True)
    visits = Visits.of(Histories.of(panel.visits, panel.times, clock, rows.record.dtype), rows)
    network = _network(estimator, likelihood, visits, seed)
    out = Held.out(visits.take(held), torch.from_numpy(panel.table.values), likelihood, seed)
    training = Training(network, visits.take(train), out, _recipe(estimator, len(train)), seed)
    training.run(tick)
    patterns = [panel.times[rows] for rows in panel.visits]
    fitted = Fitted(network, units, clock, patterns, limits, np.ones(len(schema)), np.ones(len(schema)))
    fitted.weigh(panel, [panel.visits[i] for i in held.tolist()], out.hidden(len(panel.times)))
    return fitted, training.history


def _beginnings(visits: Sequence[NDArray[np.intp]]) -> tuple[list[NDArray[np.intp]], NDArray[np.bool_]]:
    """Histories up to some of their visits, and which of all these rows are the last of one, ``[rows, 1]``."""
    begun = [rows[:end] for rows in visits for end in range(max(2, len(rows) - ENDS + 1), len(rows) + 1)]
    last = [np.arange(len(rows)) == len(rows) - 1 for rows in begun]
    return begun, np.concatenate(last)[:, None] if last else np.zeros((0, 1), bool)


def _split(n: int, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Histories to learn from, and those that are held out."""
    if n < FEWEST_HISTORIES:
        raise ArgumentError("X", f"have at least {FEWEST_HISTORIES} histories", str(n), "Is id the right column?")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    held = min(max(1, round(share * n)), n - 1)
    return order[held:], order[:held]


def _network(estimator: LongitudinalVAE, likelihood: TableLikelihood, visits: Visits, seed: int) -> HistoryVAE:
    """An untrained network whose heads start from the marginal distributions of the columns."""
    sizes = {"n_latent": estimator.n_latent, "n_hidden": estimator.n_hidden}
    with seeded(seed):
        network = HistoryVAE(visits.n_inputs, visits.inputs.shape[-1], likelihood, **sizes)
    marginal = likelihood.marginal(visits.targets.flatten(0, 1), visits.mask.flatten(0, 1))
    for head in (network.head, network.direct_head):
        head.bias.data = marginal.clone()
    return network


def _recipe(estimator: LongitudinalVAE, n: int) -> Recipe:
    usual = max(FEWEST_EPOCHS, math.ceil(STEPS * estimator.batch_size / n))
    method = method_of(estimator.method)
    return Recipe(
        methods=(copy.deepcopy(method), copy.deepcopy(method)),  # each block learns its own
        kl_weight=estimator.kl_weight,
        hide=estimator.hide,
        hide_visits=estimator.hide_visits,
        max_epochs=estimator.max_epochs or usual,
        max_seconds=estimator.max_seconds,
        patience=estimator.patience,
        batch_size=estimator.batch_size,
        lr=estimator.lr,
    )


def _limits(table: RawTable) -> Tensor:
    """Smallest and largest value of every column, ``[2, D]``; 0 for a column without a value."""
    known = np.where(table.observed, table.values, np.nan)
    return torch.tensor(np.nan_to_num(np.stack([np.fmin.reduce(known), np.fmax.reduce(known)])))
