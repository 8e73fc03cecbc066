"""The local step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def scale_gradient(x: Tensor, beta: float | Tensor, /) -> Tensor:
    r"""Identity forward; backward the gradient is multiplied by beta.

    The local step of Algorithm 1: applied to a head's output :math:`\eta_d` with
    :math:`\beta_d = \max_e \dim_e / \dim_d` it makes heads of different dimension comparable, and the
    likelihoods that are reported stay likelihoods.

    Args:
        x: Any tensor.
        beta: The factor, a positive number or a tensor that broadcasts to x.

    Example:
        >>> eta = torch.ones(2, requires_grad=True)
        >>> scale_gradient(eta, 3.0).sum().backward()
        >>> eta.grad
        tensor([3., 3.])
    """
    if not isinstance(beta, Tensor) and not beta > 0:
        raise ValueError(f"beta should be a positive number, or a tensor of them. Found {beta!r}.")
    return _ScaledGradient.apply(x, beta)


class _ScaledGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, beta: float | Tensor) -> Tensor:
        ctx.beta = beta.detach() if isinstance(beta, Tensor) else beta
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return (gradients[0] * ctx.beta).to(gradients[0].dtype), None
