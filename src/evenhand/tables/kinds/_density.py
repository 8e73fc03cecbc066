"""What every density of columns can do, all columns at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor


class Density(ABC):
    """n columns of one density, side by side, in the units that a model computes with.

    Args:
        heads: For every parameter, the column it belongs to.
        n_targets: Number of targets of all columns together.
    """

    def __init__(self, heads: Sequence[int], n_targets: int) -> None:
        self.heads = list(heads)
        self.n, self.n_parameters, self.n_targets = max(heads) + 1, len(heads), n_targets

    def targets(self, x: Tensor) -> Tensor:
        """What densities compare with, ``[..., n_targets]``, from cells ``[..., n]``."""
        return x

    def left_out(self, x: Tensor) -> Tensor:
        """What `log_prob` has too much, for cells x: terms that depend on no parameter."""
        return torch.zeros_like(x)

    def constrain(self, raw: Tensor) -> Tensor:
        """Natural parameters from unconstrained ones."""
        return raw

    @abstractmethod
    def log_prob(self, eta: Tensor, x: Tensor, raw: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Log-densities ``[..., n]`` of targets and their slopes in eta, or in raw where that is given."""

    @abstractmethod
    def marginal(self, mean: Tensor) -> Tensor:
        """Unconstrained parameters of a density with given means of the targets."""

    @abstractmethod
    def expectation(self, eta: Tensor) -> Tensor:
        """Expected targets, ``[..., n_targets]``."""

    @abstractmethod
    def guess(self, eta: Tensor) -> Tensor:
        """The most probable cells, ``[..., n]``."""

    def decide(self, expectation: Tensor) -> Tensor:
        """The best guess of cells from (averaged) expected targets."""
        return expectation

    @abstractmethod
    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every cell."""
