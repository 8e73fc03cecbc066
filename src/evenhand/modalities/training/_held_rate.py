"""The rate that a multimodal training holds, and which weights may be chosen for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ...common import RateControl, missed_rate, misses
from ._step import Step


class HeldRate:
    """The mean of KL(q_A || p) over experts and rows, held at a target.

    Args:
        target: In nats.
        device: Where the training is.

    Attributes:
        as_near: Whether the rate that was measured last is as near to the target as that of the best weights.
    """

    def __init__(self, target: float, device: torch.device) -> None:
        self.target = target
        self._control = RateControl([f"rate:{target!r}"], device)
        self._measured = self._chosen = math.nan
        self._off = self._best_off = math.inf

    @staticmethod
    def sums(step: Step) -> Tensor:
        """The sum of rates over experts and rows, and the number of these: ``[2]``."""
        return torch.stack([(step.rate * step.n_rate).sum(), step.n_rate.sum().to(step.rate)]).detach()

    def weight(self) -> Tensor:
        """The KL weight of the moment, ``[1]``."""
        return self._control.weights()

    def see(self, sums: Tensor) -> None:
        """Move the weight by a step, after a batch of all processes."""
        self._control.update(sums[:1] / sums[1:].clamp(min=1))

    def measure(self, sums: Tensor) -> bool:
        """Aim by what was measured on validation rows; whether that is nearer to the target than the best weights."""
        rate = (sums[:1] / sums[1:].clamp(min=1)).to(self._control.targets)
        self._control.calibrate(rate)
        self._measured, self._off = float(rate), float(self._control.off(rate))
        return self._off < self._best_off

    @property
    def as_near(self) -> bool:
        return self._off == self._best_off

    def choose(self) -> None:
        """The weights as they are now become the best ones."""
        self._best_off, self._chosen = self._off, self._measured

    def shown(self, *, measured: bool) -> float:
        """What a history shows: the rate that was measured just now, or that of the last batches."""
        return self._measured if measured else float(self._control.smoothed.exp())

    def missed(self) -> str:
        """A sentence if the target was not reached, by the best weights or, without validation, by the last ones."""
        found = self._chosen if math.isfinite(self._chosen) else self.shown(measured=False)
        return missed_rate(found, self.target, float(self.weight())) if misses(found, self.target) else ""

    def state_dict(self) -> dict[str, Any]:
        """For a checkpoint."""
        numbers = {"measured": self._measured, "chosen": self._chosen, "off": self._off, "best_off": self._best_off}
        return {**self._control.state_dict(), **numbers}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another training was."""
        self._control.load_state_dict(state)
        self._measured, self._chosen = state["measured"], state["chosen"]
        self._off, self._best_off = state["off"], state["best_off"]
