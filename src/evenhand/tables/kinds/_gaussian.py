"""Real and positive columns: normal densities in natural parameters."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from ._density import Density

FLOOR = 1e-4  # of -eta_2: no standard deviation exceeds about 70 of the column's own
Parameters = Literal["natural", "moments"]
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Gaussian(Density):
    r"""n normal columns, :math:`\log p = \eta_1 u + \eta_2 u^2 - A(\eta)` with :math:`\eta_2 < 0`.

    .. math:: \mu = -\frac{\eta_1}{2 \eta_2}, \quad \sigma^2 = -\frac{1}{2 \eta_2}, \qquad
              \frac{\partial \log p}{\partial \eta} = (u - \mu,\; u^2 - \mu^2 - \sigma^2)

    u is the standardised column, or its logarithm for a positive column.

    Args:
        n: Number of columns.
        parameters: What the unconstrained parameters stand for: "natural" ones as in the paper, or "moments", the
            mean and the precision. Natural ones of a column that is known very precisely are huge and learnt
            slowly.
    """

    def __init__(self, n: int, parameters: Parameters = "natural") -> None:
        super().__init__([*range(n), *range(n)], n)
        self._moments = parameters == "moments"

    def constrain(self, raw: Tensor) -> Tensor:
        """Natural parameters from unconstrained ones."""
        first, second = raw.chunk(2, -1)
        if self._moments:
            half = 0.5 * (F.softplus(second) + FLOOR)
            return torch.cat([2 * first * half, -half], -1)
        return torch.cat([first, -F.softplus(second) - FLOOR], -1)

    def log_prob(self, eta: Tensor, u: Tensor, raw: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Log-densities ``[..., n]`` and their slopes in eta, or in raw where that is given, ``[..., 2n]``."""
        second = eta[..., self.n :]
        mean, variance = self.moments(eta)
        difference = u - mean
        # the square is written out: sums of the expanded form cancel where the mean is many deviations from 0
        log_p = second * difference.square() + 0.5 * torch.log(-2 * second) - HALF_LOG_2PI
        if raw is None:
            return log_p, torch.cat([difference, difference * (u + mean) - variance], -1)
        sigmoid = torch.sigmoid(raw[..., self.n :])
        if self._moments:
            slopes = [-2 * second * difference, 0.5 * (variance - difference.square()) * sigmoid]
        else:
            slopes = [difference, (variance - difference * (u + mean)) * sigmoid]
        return log_p, torch.cat(slopes, -1)

    def marginal(self, mean: Tensor) -> Tensor:
        """Unconstrained parameters of a density with given means of u and variance 1."""
        precision = mean.new_tensor(1.0 if self._moments else 0.5)
        raw = torch.log(torch.expm1(precision - FLOOR)).expand_as(mean)
        return torch.cat([mean, raw], -1)

    def moments(self, eta: Tensor) -> tuple[Tensor, Tensor]:
        """Means and variances of u."""
        first, second = eta.chunk(2, -1)
        variance = -0.5 / second
        return first * variance, variance

    def expectation(self, eta: Tensor) -> Tensor:
        """Means of u."""
        return self.moments(eta)[0]

    def guess(self, eta: Tensor) -> Tensor:
        """Means of u, which are its modes, and the medians of positive numbers."""
        return self.moments(eta)[0]

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every u."""
        mean, variance = self.moments(eta)
        noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
        return mean + variance.sqrt() * noise


def natural(mean: Tensor, variance: Tensor) -> Tensor:
    """Natural parameters of normal densities with given moments."""
    return torch.cat([mean / variance, -0.5 / variance], -1)
