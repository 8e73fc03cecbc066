"""What the loop asks of a model."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class Trainable(Protocol):
    """A module that the loop can train.

    Called with a batch, noise, KL weight, progress, and the probe and the limit of a `Watch`, it gives a `Step`.
    """

    names: list[str]
    expert_names: list[str]
    kl_weight: float
    target_rate: float | None  # in nats, if the KL weight is to hold a rate

    def noise(self, n_rows: int, generator: torch.Generator) -> Tensor:
        """Standard normal numbers for a batch, ``[A, K, B, L]``."""

    def score(self, reconstruction: Tensor) -> float:
        """How well rows were reconstructed, from mean log-likelihoods ``[D]``; higher is better."""

    def settings(self) -> dict[str, str]:
        """What must be the same for a training to be resumed."""
