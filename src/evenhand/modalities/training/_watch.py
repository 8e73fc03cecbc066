"""Where the gradient of every expert is read and, if wanted, limited: at its posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..models import Experts


@dataclass
class Watch:
    r"""Reads how long the gradients are that experts get, and cuts those that are too long.

    They are taken at the mean and the scale of every expert's posterior for every row, where all that its samples
    have caused has come together, and where nothing of another expert is in it yet: behind this place experts may
    share encoders. The length of the gradient of a row's objective is

    .. math:: \sqrt{\|\partial / \partial \mu\|^2 + \|\partial / \partial \log \sigma\|^2}

    in nats. Because it is of a single row, neither the size of a batch nor the number of processes changes it.

    Args:
        probe: Zeros ``[A]`` that require gradients, or None. What they get as gradients in the backward pass is the
            sum of the squared lengths over rows, before any cut: so it is read without a hook, in a compiled step and
            in a CUDA graph too.
        limit: The greatest length; None for any.
        n_rows: Over how many rows the loss is a mean.

    Attributes:
        told: A zero to be added to the loss. From its own gradient the watch knows what a loss of 1 counts in the
            backward pass, whatever multiplies it: the share of a process, a loss scale, accumulation.
    """

    probe: Tensor | None
    limit: float | None
    n_rows: int
    told: Tensor | float = 0.0

    def __call__(self, experts: Experts) -> Experts:
        """The same experts, watched."""
        if not torch.is_grad_enabled() or (self.probe is None and self.limit is None):
            return experts
        probe = experts.mean.new_zeros(len(experts.mean)) if self.probe is None else self.probe
        mean, scale, self.told = _Watched.apply(experts.mean, experts.scale, probe, self.limit, self.n_rows)
        return replace(experts, mean=mean, scale=scale)


class _Watched(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, mean: Tensor, scale: Tensor, probe: Tensor, limit: float | None, n_rows: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        ctx.save_for_backward(scale)
        ctx.limit, ctx.n_rows = limit, n_rows
        return mean.view_as(mean), scale.view_as(scale), mean.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        at_mean, at_scale, told = gradients
        (scale,) = ctx.saved_tensors
        rows = ctx.n_rows / told  # the loss is a mean over rows
        squares = (at_mean * rows).square().sum(-1) + (at_scale * scale * rows).square().sum(-1)  # [A, B]
        if ctx.limit is not None:
            factor = (ctx.limit * squares.rsqrt()).clamp(max=1.0).unsqueeze(-1)
            at_mean, at_scale = at_mean * factor, at_scale * factor
        return at_mean, at_scale, squares.sum(-1), None, None
