"""What an objective is: it makes a loss of a batch, and engines know none by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ...common import RateControl
from ..families import Family, Heads, Latent, Statistics


@dataclass(frozen=True, eq=False)
class BatchOfRows:
    """The rows of a training step as R replicas see them.

    Attributes:
        features: What the families make of the rows first, ``[R, B, I]``: `Family.look`.
        targets: What the heads compare with, ``[R, B, T]``.
        mask: What cells count, ``[R, B, D]``: 0 where they are not scored, else 1 or the weight of their column.
        noise: Standard normal numbers for the latent variables, ``[R, K, B, L]``.
        kl_weights: Of the replicas, ``[R]``.
        statistics: Of the batch, if the family normalises by them.
        control: What holds rates by moving the KL weights of the next step; None where all are fixed.
    """

    features: Tensor
    targets: Tensor
    mask: Tensor
    noise: Tensor
    kl_weights: Tensor
    statistics: Statistics | None = None
    control: RateControl | None = None

    def log_likelihood(self, model: Family, outputs: Tensor) -> Tensor:
        """log p(x|z) of the cells that are scored, ``[R, K, B]``."""
        log_p = model.log_prob(outputs, self.targets, self.statistics)
        return (log_p * self.mask.unsqueeze(1)).sum(-1)

    def tell_rate(self, latent: Latent) -> None:
        """Let the control of rates see those of these rows, if there is one."""
        if self.control is not None:
            self.control.update(latent.kl.mean(-1))

    def weighted_rate(self, latent: Latent) -> Tensor:
        """log q(z|x) - log p(z) of the samples, times the KL weight, ``[R, K, B]``."""
        return self.kl_weights.view(-1, 1, 1) * (latent.log_q - latent.log_prior)


class Objective(ABC):
    """What is minimised, for every replica."""

    name: ClassVar[str]
    """What it is called in arguments and configs."""

    n_passes: ClassVar[int] = 1
    """How often rows are decoded; every pass has blocks of its own."""

    @abstractmethod
    def loss(self, model: Family, batch: BatchOfRows, blocks: Sequence[Sequence[Heads]]) -> Tensor:
        """The loss of every replica, ``[R]``, in nats per row.

        Args:
            model: The replicas.
            batch: The rows.
            blocks: For every pass, a block for each place where the heads' gradients meet, or none.
        """


class Bound(Objective):
    """A lower bound of the evidence, whose gradient is the plain one."""

    @abstractmethod
    def bound(self, log_likelihood: Tensor, latent: Latent, batch: BatchOfRows) -> Tensor:
        """The bound for every row, ``[R, B]``."""

    def loss(self, model: Family, batch: BatchOfRows, blocks: Sequence[Sequence[Heads]]) -> Tensor:
        """The negative mean of the bound."""
        latent = model.infer(batch.features, batch.noise)
        batch.tell_rate(latent)
        log_likelihood = batch.log_likelihood(model, model.decode(latent, blocks[0]))
        return -self.bound(log_likelihood, latent, batch).mean(-1)
