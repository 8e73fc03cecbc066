"""Optimisers whose learning rate a captured step reads anew every time."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn


class Momentum:
    """Gradient descent with momentum 0.9, for all parameters at once."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: Tensor) -> None:
        self._parameters, self._lr = list(parameters), lr
        self._velocities = [torch.zeros_like(p) for p in self._parameters]

    def zero_grad(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        moving = [(p, v) for p, v in zip(self._parameters, self._velocities, strict=True) if p.grad is not None]
        parameters, velocities = (list(column) for column in zip(*moving, strict=True))
        torch._foreach_mul_(velocities, 0.9)
        torch._foreach_add_(velocities, [p.grad for p in parameters])
        torch._foreach_sub_(parameters, torch._foreach_mul(velocities, self._lr))


def adam(parameters: Iterable[nn.Parameter], lr: Tensor) -> torch.optim.Adam:
    """Adam as torch has it, ready to be captured on a GPU."""
    return torch.optim.Adam(parameters, lr=lr, fused=True, capturable=lr.is_cuda)


def fallen(step: int, n_steps: int) -> float:
    """What is left of the learning rate: half a cosine from one to zero."""
    return 0.5 * (1 + math.cos(math.pi * step / n_steps))
