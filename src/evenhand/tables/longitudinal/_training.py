"""The training of a network on histories: a plain loop that stops where hidden cells are guessed best."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...common import RateControl, Tick
from ...impartial import LinearBlock, Method
from ..inference import column_errors
from ..kinds import TableLikelihood
from ._guess import expectations, rates
from ._network import HistoryVAE
from ._visits import Visits, hidden_at_random

VALIDATIONS = 40  # during a whole training
HIDDEN_CELLS, HIDDEN_VISITS = 0.2, 0.1  # of histories that are held out: what is guessed there
WARM_UP = 0.5  # the part of a training over which the KL weight rises: from the start it would silence z
CLIP = 1.0  # the largest norm of a gradient
SMALLEST_GAIN = 1e-6


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes:
        methods: What settles conflicts among columns on the way through z, and on the direct way.
        kl_weight: The weight of the KL term; "rate:2" for one that moves such that the rate is 2 nats per visit.
        hide: The mean share of observed cells that is hidden in training.
        hide_visits: The share of visits that is hidden as a whole.
        max_epochs: Length of the training.
        max_seconds: What it may take at most.
        patience: Validations without any improvement after which it ends.
        batch_size: Histories in a step.
        lr: The learning rate at first; it falls to zero along half a cosine.
    """

    methods: tuple[Method, Method]
    kl_weight: float | str
    hide: float
    hide_visits: float
    max_epochs: int
    max_seconds: float | None
    patience: int
    batch_size: int
    lr: float


@dataclass
class Held:
    """Histories that are held out, with the cells that are hidden from the network there.

    Attributes:
        visits: The histories.
        visible: Which cells are seen, ``[N, T, D]``.
        truth: All cells in the units of the data and the schema's order, ``[N, T, D]``; NaN where unknown.
        scored: Which cells are guessed, in the schema's order, ``[N, T, D]``.
    """

    visits: Visits
    visible: Tensor
    truth: Tensor
    scored: Tensor

    @classmethod
    def out(cls, visits: Visits, values: Tensor, likelihood: TableLikelihood, seed: int) -> Held:
        """Hide cells of these histories, the same for every training of a seed.

        Args:
            visits: The histories.
            values: The cells of all rows in the units of the data, ``[rows, D]``.
            likelihood: Knows the order of columns.
            seed: For the draw.
        """
        generator = torch.Generator().manual_seed(seed)
        visible = hidden_at_random(visits.mask, HIDDEN_CELLS, HIDDEN_VISITS, generator)
        scored = (visits.mask - visible)[..., likelihood.inverse] > 0
        known = visits.mask[..., likelihood.inverse] > 0
        truth = values[visits.histories.rows].masked_fill(~known, torch.nan)
        return cls(visits, visible, truth, scored)

    def hidden(self, n: int) -> NDArray[np.bool_]:
        """Which cells of n rows are guessed, ``[n, D]``."""
        found = np.zeros((n, self.scored.shape[-1]), dtype=bool)
        histories = self.visits.histories
        found[histories.rows[histories.present].numpy()] = self.scored[histories.present].numpy()
        return found

    def error(self, network: HistoryVAE) -> float:
        """The mean over columns of errors on hidden cells."""
        guess = network.likelihood.decide(expectations(network, self.visits, self.visible))
        truth, guess, scored = (x.flatten(0, 1) for x in (self.truth, guess, self.scored))
        errors = column_errors(truth, guess, scored, network.likelihood.schema)
        return float(errors.nanmean())


@dataclass
class Training:
    """One training.

    Attributes:
        network: What is trained.
        train: The histories to learn from.
        held: Those that say when to stop.
        recipe: How.
        seed: Of noise, order and hidden cells.
        history: Steps, error and rate in nats of every validation; where a rate is held, also the KL weight, and how
            far the rate is beyond its tolerance.
    """

    network: HistoryVAE
    train: Visits
    held: Held
    recipe: Recipe
    seed: int
    history: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        heads = self.network.likelihood.heads.tolist()
        self.block, self.direct_block = (LinearBlock(method, heads) for method in self.recipe.methods)
        modules = (self.network, self.block, self.direct_block)
        self.optimizer = torch.optim.Adam([p for m in modules for p in m.parameters()], lr=self.recipe.lr, fused=True)
        weights = [self.recipe.kl_weight]
        self.control = RateControl(weights) if RateControl.needed(weights) else None
        self._generator = torch.Generator().manual_seed(self.seed)
        self._per_epoch = math.ceil(len(self.train.histories) / self.recipe.batch_size)
        self._steps = self._per_epoch * self.recipe.max_epochs
        self._started = time.monotonic()

    def run(self, tick: Tick) -> None:
        """Train, and leave the network as it was where it guessed best.

        Args:
            tick: What is told the part of the training that was done.
        """
        state, waited, done = self._copy(), 0, 0
        while not self.history or (waited < self.recipe.patience and self._progress(done) < 1):
            before, done = done, self._until_validation(done)
            tick((done - before) / self._steps, f"error {self._validate(done):.4f}")
            waited = len(self.history) - 1 - kept(self.history)
            if not waited:
                state = self._copy()
        self.network.load_state_dict(state)
        self.network.eval()

    @property
    def _pause(self) -> int:
        """Steps between validations."""
        return max(1, self._steps // VALIDATIONS)

    def _progress(self, done: int) -> float:
        """How much of the training is over: by steps, or by time if that is sooner."""
        limit = self.recipe.max_seconds
        return max(done / self._steps, 0.0 if limit is None else (time.monotonic() - self._started) / limit)

    def _until_validation(self, done: int) -> int:
        self.network.train()
        for _ in range(min(self._pause, self._steps - done)):
            if self._progress(done) >= 1:
                break
            self._step(done)
            done += 1
        return done

    def _step(self, done: int) -> None:
        if done % self._per_epoch == 0:
            self._order = torch.randperm(len(self.train.histories), generator=self._generator)
        place = done % self._per_epoch * self.recipe.batch_size
        visits = self.train.take(self._order[place : place + self.recipe.batch_size])
        progress = self._progress(done)
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.lr * 0.5 * (1 + math.cos(math.pi * progress))
        self.optimizer.zero_grad(set_to_none=True)
        self._loss(visits, self._kl_weight(progress)).backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self.optimizer.step()

    def _kl_weight(self, progress: float) -> Tensor | float:
        if self.control is not None:
            return self.control.weights()[0]
        return float(self.recipe.kl_weight) * min(1.0, progress / WARM_UP)

    def _loss(self, visits: Visits, kl_weight: Tensor | float) -> Tensor:
        """The negative ELBO of a visit, and the direct way's surprise at hidden cells.

        In both the columns' gradients are settled where they meet.
        """
        visible, present = self._visible(visits.mask), visits.histories.present
        clock, mask, network = visits.histories.clock, visits.mask[present], self.network
        seen, line = visits.seen(visible)
        context = network.context(seen, clock, present)
        noise = torch.randn(*present.shape, network.n_latent, generator=self._generator)
        path = network.infer(context, clock, noise)
        if self.control is not None:
            self.control.update(path.kl[present].mean().unsqueeze(0))
        outputs = self.block(path.features[present], network.head.weight, network.head.bias)
        direct_head = network.direct_head
        direct = self.direct_block(network.direct(context[present]), direct_head.weight, direct_head.bias)
        elbo = self._log_prob(outputs, visits) * mask
        guesses = self._log_prob(direct + network.skip(line[present]), visits) * (mask - visible[present])
        return (kl_weight * path.kl[present].sum() - elbo.sum() - guesses.sum()) / len(mask)

    def _log_prob(self, outputs: Tensor, visits: Visits) -> Tensor:
        """Log-densities of all cells, ``[visits, D]``."""
        return self.network.likelihood.log_prob(outputs, visits.targets[visits.histories.present])

    def _visible(self, mask: Tensor) -> Tensor:
        """Hide cells: from few to many, differently in every step, so that the network learns to guess."""
        share = 2 * self.recipe.hide * float(torch.rand((), generator=self._generator))
        return hidden_at_random(mask, share, self.recipe.hide_visits, self._generator)

    def _validate(self, done: int) -> float:
        """The error on hidden cells; it is noted with the rate, and how far that is off, if one is held."""
        self.network.eval()
        error = self.held.error(self.network)
        nats = float(rates(self.network, self.held.visits, self.held.visits.mask).mean())
        self.history.append({"steps": done, "error": error, "rate": nats})
        if self.control is not None:
            measured, weight = torch.tensor([nats]), float(self.control.weights())
            self.control.calibrate(measured)
            self.history[-1] |= {"kl_weight": weight, "off": float(self.control.off(measured))}
        return error

    def _copy(self) -> dict[str, Tensor]:
        return {name: x.clone() for name, x in self.network.state_dict().items()}


def kept(history: Sequence[Mapping[str, Any]]) -> int:
    """The validation whose network is kept: the lowest error, and before that the rate nearest to one that is held.

    A gain that is next to nothing does not count. Where nothing is hidden there is no error, and the last is kept.
    """
    best, found = (math.inf, math.inf), 0
    for i, row in enumerate(history):
        off, error = row.get("off", 0.0), row["error"]
        if off < best[0] or (off == best[0] and not error >= best[1] - SMALLEST_GAIN):
            best, found = (off, error), i
    return found
