"""Learning rates that rise at the beginning, before anyone has learnt enough to be judged."""

from __future__ import annotations

import torch
from torch.optim import Optimizer


class WarmUp:
    """Lets the learning rates of an optimiser rise linearly to what they are.

    Args:
        optimizer: Its rates are the goal.
        steps: After how many steps it is reached; the first one has a part of 1 / steps.
        device: Where the rates are kept as numbers that a recorded step reads anew; None for plain numbers.
    """

    def __init__(self, optimizer: Optimizer, steps: float, device: torch.device | None = None) -> None:
        self._optimizer, self._steps = optimizer, steps
        self._goals = [float(group["lr"]) for group in optimizer.param_groups]
        self._tensors = [None if device is None else torch.tensor(goal, device=device) for goal in self._goals]

    def set(self, done: int) -> None:
        """Set the rates of the next step, after so many."""
        part = min(1.0, (done + 1) / self._steps)
        for group, goal, tensor in zip(self._optimizer.param_groups, self._goals, self._tensors, strict=True):
            group["lr"] = goal * part if tensor is None else tensor.fill_(goal * part)
