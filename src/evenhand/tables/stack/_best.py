"""The best weights so far of every replica."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ._stack import Stack
from ._state import check_keys, check_tensors


class Best:
    """Remembers, for every replica of a stack, the weights with the lowest score.

    Where a KL weight holds a rate, weights whose rate is within the tolerance come before all others, and of others
    those come first whose rate is nearest.

    Args:
        stack: The stack.

    Attributes:
        scores: The lowest score of every replica, ``[R]``; infinite at first.
        steps: The step at which it was reached, ``[R]``.
        off: How far the rate was beyond the tolerance then, ``[R]``; infinite at first.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._state, self._own = stack.state(), stack.model.of_replicas()
        self.scores = torch.full((len(stack.runs),), torch.inf, device=stack.device)
        self.steps = torch.zeros(len(stack.runs), device=stack.device)
        self.off = torch.full_like(self.scores, torch.inf)

    def offer(self, scores: Tensor, off: Tensor | None = None) -> Tensor:
        """Remember the weights as they are now where the score is lower than before; returns where, ``[R]``.

        Args:
            scores: Of every replica.
            off: How far rates are beyond the tolerance, what `Stack.calibrate` gives; nowhere if None.
        """
        scores = scores.to(self.scores)
        off = torch.zeros_like(self.off) if off is None else off.to(self.off)
        nearer, as_near = off < self.off, off == self.off
        better = (nearer & scores.isfinite()) | (as_near & (scores < self.scores))  # a NaN is never better
        self.scores = torch.where(better, scores, self.scores)
        self.off = torch.where(better, off, self.off)
        self.steps = torch.where(better, self._stack.steps.to(self.steps), self.steps)
        for name, tensor in self._stack.model.state_dict().items():
            if name in self._own:
                where = better.view(-1, *[1] * (tensor.ndim - 1))
                self._state[name] = torch.where(where, tensor, self._state[name])
        return better

    def keep(self, replicas: Sequence[int]) -> None:
        """Go on with some replicas only."""
        index = torch.tensor(list(replicas), device=self.scores.device)
        self._state = {k: t[index] if k in self._own else t for k, t in self._state.items()}
        self.scores, self.steps, self.off = self.scores[index], self.steps[index], self.off[index]

    def rescore(self, score: Callable[[], Tensor]) -> None:
        """Score the best weights again, when scores are no longer measured as before."""
        now = self._stack.state()
        self.restore()
        self.scores = score().to(self.scores)
        self._stack.model.load_state_dict(now)

    def restore(self) -> None:
        """Put the best weights back into the model."""
        self._stack.model.load_state_dict(self._state)

    def state_dict(self) -> dict[str, Any]:
        """The best weights, their scores and steps; a copy."""
        return {
            "weights": {name: tensor.clone() for name, tensor in self._state.items()},
            "scores": self.scores.clone(),
            "steps": self.steps.clone(),
            "off": self.off.clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with what another `Best` remembered, of a stack with the same runs.

        Raises:
            ValueError: If the state is of another stack. Nothing has changed then.
        """
        check_keys(state, ("weights", "scores", "steps", "off"), "Best", optional=("off",))
        if "off" not in state:  # of an older version, which knew no rates to hold
            off = torch.where(state["scores"].isfinite(), 0.0, torch.inf)
            state = {**state, "off": off}
        check_tensors(_flat(state), _flat(self.state_dict()))
        device = self.scores.device
        self._state = {name: tensor.to(device, copy=True) for name, tensor in state["weights"].items()}
        self.scores, self.steps, self.off = (state[name].to(device, copy=True) for name in ("scores", "steps", "off"))


def _flat(state: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: state[name] for name in ("scores", "steps", "off")} | dict(state["weights"])
