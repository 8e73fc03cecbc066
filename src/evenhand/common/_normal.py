"""Normal densities."""

from __future__ import annotations

import torch
from torch import Tensor

LOG_2PI = 1.8378770664093453


def log_normal(z: Tensor, mean: Tensor | float, log_scale: Tensor | None = None) -> Tensor:
    """Log-density of independent normal variables, summed over the last axis."""
    if log_scale is None:
        return -0.5 * ((z - mean).square() + LOG_2PI).sum(-1)
    standard = (z - mean) * torch.exp(-log_scale)
    return -(0.5 * (standard.square() + LOG_2PI) + log_scale).sum(-1)


def normal_divergence(
    mean: Tensor, scale: Tensor, centre: Tensor | float = 0.0, width: Tensor | float = 1.0
) -> Tensor:
    """KL(N(mean, scale) || N(centre, width)) of single variables, in nats."""
    ratio = scale / width
    return 0.5 * (ratio.square() + ((mean - centre) / width).square() - 1) - ratio.log()
