"""Layers that hold R networks at once: one call advances all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

FEW_ROWS = 128


class Stacked(nn.Module):
    """A layer whose parameters and buffers all have a leading axis of R replicas."""

    def keep(self, index: Tensor) -> None:
        """Cut it down to some replicas."""
        for parameter in self.parameters(recurse=False):
            parameter.data = parameter.data[index].contiguous()
            parameter.grad = None
        for name, buffer in list(self.named_buffers(recurse=False)):
            setattr(self, name, buffer[index])


class StackedLinear(Stacked):
    r"""R linear layers side by side, :math:`y_r = x_r W_r^\top + b_r`.

    Weights are drawn by Xavier's uniform rule, one replica after the other and each from the generator of its
    own, so that a replica starts from the same numbers whatever else is in its stack.

    Args:
        n_in: Number of inputs.
        n_out: Number of outputs.
        generators: One for every replica.
        gain: Xavier's gain.
        fan_out: For every output, how many outputs make up the layer it belongs to; n_out if None. Heads that
            are computed as one layer keep the initialisation of separate ones.
        bias: The value of all biases at first; None for a layer without.
        std: Draw weights from a normal distribution of this standard deviation instead of by Xavier's rule.
    """

    bias: nn.Parameter | None

    def __init__(
        self,
        n_in: int,
        n_out: int,
        generators: Sequence[torch.Generator],
        *,
        gain: float = 1.0,
        fan_out: Sequence[int] | None = None,
        bias: float | None = 0.01,
        std: float | None = None,
    ) -> None:
        super().__init__()
        fans = torch.tensor(fan_out if fan_out is not None else [n_out] * n_out)
        bounds = gain * torch.sqrt(6 / (n_in + fans)).unsqueeze(-1)
        if std is None:
            draws = [(2 * torch.rand(n_out, n_in, generator=g) - 1) * bounds for g in generators]
        else:
            draws = [std * torch.randn(n_out, n_in, generator=g) for g in generators]
        self.weight = nn.Parameter(torch.stack(draws))
        self.bias = None if bias is None else nn.Parameter(torch.full((len(generators), n_out), bias))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``[R, rows, n_out]`` for inputs ``[R, rows, n_in]``."""
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, for printing."""
        r, n_out, n_in = self.weight.shape
        return f"{n_in}, {n_out}, replicas={r}"


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """R linear layers: outputs ``[R, rows, n_out]`` for x ``[R, rows, n_in]`` and weight ``[R, n_out, n_in]``."""
    if x.is_cuda:
        y: Tensor = _Product.apply(x, weight)
        return y if bias is None else y + bias.unsqueeze(1)  # which a compiler does on the way
    return torch.bmm(x, weight.mT) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight.mT)


class _Product(torch.autograd.Function):
    """x W' on a GPU. Autograd's own gradient of W is a transposed one, which is then copied."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.bmm(x, weight.mT)

    @staticmethod
    def backward(ctx: Any, *incoming: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        (g,) = incoming
        needs_x, needs_weight = ctx.needs_input_grad
        return torch.bmm(g, weight) if needs_x else None, over_rows(g, x) if needs_weight else None


def over_rows(g: Tensor, x: Tensor) -> Tensor:
    """g' x ``[R, n_out, n_in]`` of g ``[R, rows, n_out]`` and x ``[R, rows, n_in]``.

    Many rows are cut into parts: otherwise a few processors of a GPU would add up all of them, one after the other.
    """
    rows = g.shape[1]
    parts = next((n for n in (16, 8, 4, 2) if rows % n == 0 and rows // n >= FEW_ROWS), 1)
    if parts == 1:
        return torch.bmm(g.mT, x)
    return (g.unflatten(1, (parts, -1)).mT @ x.unflatten(1, (parts, -1))).sum(1)


class StackedBatchNorm(Stacked):
    """R batch normalisations side by side, each over the rows of its own batch.

    In evaluation it uses running averages, as `torch.nn.BatchNorm1d` does.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, n: int, replicas: int, *, momentum: float = 0.1, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.epsilon = momentum, epsilon
        self.weight = nn.Parameter(torch.ones(replicas, 1, n))
        self.bias = nn.Parameter(torch.zeros(replicas, 1, n))
        self.register_buffer("mean", torch.zeros(replicas, 1, n))
        self.register_buffer("variance", torch.ones(replicas, 1, n))

    def forward(self, x: Tensor) -> Tensor:
        """Normalised inputs ``[R, rows, n]``."""
        mean, variance = self.mean, self.variance
        if self.training:
            mean, variance = _moments(x)
            rows = x.shape[1]
            with torch.no_grad():
                self.mean.lerp_(mean, self.momentum)
                self.variance.lerp_(variance * (rows / max(rows - 1, 1)), self.momentum)
        scaled = self.weight * (variance + self.epsilon).rsqrt()
        return torch.addcmul(self.bias - mean * scaled, x, scaled)


def _moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance over rows ``[R, 1, n]`` of x ``[R, rows, n]``."""
    if x.is_cuda:
        variance, mean = torch.var_mean(x, 1, correction=0, keepdim=True)
        return mean, variance
    mean = x.mean(1, keepdim=True)  # torch's var_mean takes fifteen times as long on a CPU
    return mean, (x - mean).square().mean(1, keepdim=True)


GAINS = {"tanh": 5 / 3, "relu": math.sqrt(2), "linear": 1.0}
"""Xavier's gains, by the activation that follows."""
