"""A floor under the scales of posteriors: one that reaches zero has an infinite density, and never comes back."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


class ScaleFloor(nn.Module):
    """The end of an encoder: means and raw scales ``[B, 2 L]``, of which softplus makes no less than the floor.

    Scales above the floor are left as they are. Below it, a gradient passes only if it raises them.

    Args:
        smallest: The floor.
    """

    def __init__(self, smallest: float) -> None:
        super().__init__()
        self.smallest = smallest
        self._low = math.log(math.expm1(smallest))  # softplus takes it to the floor

    def forward(self, output: Tensor) -> Tensor:
        mean, raw = output.chunk(2, -1)
        return torch.cat([mean, _NotBelow.apply(raw, self._low)], -1)

    def extra_repr(self) -> str:
        return f"{self.smallest:g}"


class _NotBelow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, low: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.low = low
        return x.clamp(min=low)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        gradient = gradients[0]
        return gradient * ((x > ctx.low) | (gradient < 0)).to(gradient.dtype), None
