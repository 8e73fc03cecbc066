"""Count columns: Poisson densities in natural parameters."""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST, LARGEST = -14.0, 16.0  # of the log-rate: rates from 1e-6 to 9e6


class Poisson:
    r"""n Poisson columns with log-rates :math:`\eta`: :math:`\log p = x \eta - e^\eta - \log x!`.

    The slope is :math:`x - e^\eta`. Outside of a wide range the rate stays at its bound while the slope still
    points back, so that one wild step cannot end the training.

    Args:
        n: Number of columns.
    """

    def __init__(self, n: int) -> None:
        self.n = self.n_parameters = self.n_targets = n
        self.heads = list(range(n))

    def constrain(self, raw: Tensor) -> Tensor:
        """Log-rates are unconstrained."""
        return raw

    def log_prob(self, eta: Tensor, x: Tensor, raw: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Log-probabilities but for the term log x!, and their slopes in eta."""
        bounded = eta.clamp(SMALLEST, LARGEST)
        rate = bounded.exp()
        return x * bounded - rate, x - rate

    def marginal(self, mean: Tensor) -> Tensor:
        """Log-rates for given mean counts."""
        return mean.clamp(min=1e-3).log()

    def rates(self, eta: Tensor) -> Tensor:
        """The expected counts."""
        return eta.clamp(SMALLEST, LARGEST).exp()

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every count."""
        return torch.poisson(self.rates(eta), generator)
