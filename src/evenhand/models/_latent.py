"""What an encoder finds out about rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Latent:
    """K samples of the latent variables of B rows, for R replicas, with their densities.

    Attributes:
        z: ``[R, K, B, L]``.
        log_q: log q(z | x), ``[R, K, B]``.
        log_prior: log p(z), ``[R, K, B]``.
        kl: KL(q || p) in closed form, ``[R, B]``.
        s: HI-VAE's (relaxed) component of the mixture, ``[R, K, B, S]``.
    """

    z: Tensor
    log_q: Tensor
    log_prior: Tensor
    kl: Tensor
    s: Tensor | None = None


LOG_2PI = 1.8378770664093453


def log_normal(z: Tensor, mean: Tensor | float, log_scale: Tensor | None = None) -> Tensor:
    """Log-density of independent normal variables, summed over the last axis."""
    if log_scale is None:
        return -0.5 * ((z - mean).square() + LOG_2PI).sum(-1)
    standard = (z - mean) * torch.exp(-log_scale)
    return -(0.5 * (standard.square() + LOG_2PI) + log_scale).sum(-1)
