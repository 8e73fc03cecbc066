"""Successive halving: all candidates start together, the worst are dropped on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..stack import Best, Stack

RUNGS = ((0.04, 0.3), (0.12, 0.35), (0.3, 0.4))
"""After which share of the training, which share of the candidates is kept."""

FEW, RUNGS_OF_FEW = 6, ((0.25, 0.5),)
"""Up to as many candidates are given more time before they are judged."""

CHECKS = 40  # validations in a training
FIRST = 20  # steps after which it is known how long one takes
PLANNED = 0.1  # of the time: from then on its measure is good enough to plan by


@dataclass
class Search:
    """The training of a stack of candidates.

    Args:
        stack: A replica for every candidate.
        steps: Steps of the longest training.
        score: What is to be small, for every replica ``[R]``; looked at many times.
        rate: The rate of every replica ``[R]``, for the record and for KL weights that hold one.
        labels: A record for every candidate, which the outcome is added to.
        always: Candidates (by number) of which the best one is never dropped before the end.
        patience: Validations without improvement of any replica before training ends.
        beside: What else, ``[R]``, is to be small where the best weights of a candidate are chosen; None for nothing.
        max_seconds: What all training may take; None for no limit.
        tick: Called with the number of steps done.
    """

    stack: Stack
    steps: int
    score: Callable[[], Tensor]
    rate: Callable[[], Tensor]
    labels: list[dict[str, Any]]
    always: Sequence[int]
    patience: int = 15
    beside: Callable[[], Tensor] | None = None
    max_seconds: float | None = None
    tick: Callable[[int], None] = lambda steps: None
    interrupted: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> dict[str, Any]:
        """Train, drop, and leave the best candidate alone in the stack; returns its label."""
        self._alive = list(range(len(self.labels)))
        self._best = Best(self.stack)
        try:
            self._train()
        except KeyboardInterrupt:
            self.interrupted = True
        if not torch.isfinite(self._best.scores).any():
            self._check()  # interrupted before the first validation: what is there is the best there is
        if not torch.isfinite(self._best.scores).any():
            raise FloatingPointError(
                "Training diverged: no validation gave a number. Look for extreme values in the table, or lower lr."
            )
        self._rescore()
        self._record()
        winner = self._winner()
        label = self.labels[self._alive[winner]]
        label["chosen"] = True
        self._keep([winner])
        self._best.restore()
        return label

    def _winner(self) -> int:
        """The best of those that are nearest to the rates they were to hold; of all, where there is none to hold."""
        off = self._best.off
        return int(torch.where(off == off.min(), self._best.scores, torch.inf).argmin())

    def _train(self) -> None:
        rungs = list(RUNGS if len(self._alive) > FEW else RUNGS_OF_FEW if len(self._alive) > 1 else ())
        done = stale = 0
        begin = time.monotonic()
        while done < self.steps and stale < self.patience:
            number = min(self._piece(done, time.monotonic() - begin), self.steps - done)
            self.stack.train(number)
            done += number
            self.tick(number)
            stale = 0 if self._check() else stale + 1
            if rungs and done >= rungs[0][0] * self.steps:
                self._drop(rungs.pop(0)[1])
            if self.max_seconds is not None:
                self._keep_to_time(done, time.monotonic() - begin)

    def _piece(self, done: int, seconds: float) -> int:
        """The steps up to the next validation: a fortieth of the training, or of the time that there is."""
        every = max(1, self.steps // CHECKS)
        if self.max_seconds is None:
            return every
        return min(every, max(FIRST, self._affordable(done, seconds) // CHECKS))

    def _affordable(self, done: int, seconds: float) -> int:
        """How many steps the whole time is enough for, at the pace so far."""
        assert self.max_seconds is not None
        return int(done * self.max_seconds / max(seconds, 1e-9))

    def _keep_to_time(self, done: int, seconds: float) -> None:
        """Plan no more steps than the time is enough for; the learning rate falls faster then."""
        assert self.max_seconds is not None
        if seconds < PLANNED * self.max_seconds:
            return
        affordable = max(done, self._affordable(done, seconds))
        if affordable < self.steps:
            self.steps = affordable
            self.stack.shorten(affordable)

    def _check(self) -> bool:
        scores = self.score()
        row: dict[str, Any] = {"step": int(self.stack.steps), "replicas": len(scores), "error": float(scores.min())}
        self.history.append(row)
        before = float(self._best.scores.min())
        if self.stack.control is None:
            self._best.offer(self._with_beside(scores))
            return float(self._best.scores.min()) < before
        rates = self.rate()
        row |= {"candidates": list(self._alive), "rates": rates.tolist(), "kl_weights": self._weights()}
        return bool(self._best.offer(self._with_beside(scores), self.stack.calibrate(rates)).any())

    def _weights(self) -> list[float]:
        """The KL weights of the moment."""
        control = self.stack.control
        weights: list[float] = (self.stack.kl_weights if control is None else control.weights()).tolist()
        return weights

    def _with_beside(self, scores: Tensor) -> Tensor:
        return scores if self.beside is None else scores + self.beside().to(scores)

    def _rescore(self) -> None:
        """From here on candidates are compared by their scores alone."""
        if self.beside is not None:
            self._best.rescore(self.score)

    def _record(self) -> None:
        found = zip(self._alive, self._best.scores.tolist(), self.rate().tolist(), self._weights(), strict=True)
        for i, score, rate, weight in found:
            self.labels[i].update(error=score, rate=rate, steps=int(self.stack.steps))
            if self.stack.control is not None:
                self.labels[i]["weight"] = weight

    def _drop(self, share: float) -> None:
        """Only the best are kept, and the best of those that always are."""
        self._rescore()
        self._record()
        order = self._best.scores.argsort().tolist()
        kept = order[: max(1, round(share * len(order)))]
        protected = [r for r in order if self._alive[r] in self.always]
        kept += [r for r in protected[:1] if r not in kept]
        self._keep(sorted(kept))
        self._best.rescore(lambda: self._with_beside(self.score()))  # fewer candidates are looked at more closely

    def _keep(self, replicas: list[int]) -> None:
        self._alive = [self._alive[r] for r in replicas]
        self.stack.keep(replicas)
        self._best.keep(replicas)
