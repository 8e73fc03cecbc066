"""Numbers with normal noise."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._likelihood import sum_items
from ._location_scale import LocationScale

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Normal(LocationScale):
    r"""Numbers with normal noise of a fixed or a learnt standard deviation.

    .. math:: \log p(x | \mu, \sigma) = -\frac{(x - \mu)^2}{2 \sigma^2} - \log \sigma - \frac{1}{2} \log 2 \pi

    Args:
        scale: The standard deviation of all elements. None: each has its own, :math:`\mathrm{softplus}(r) + 0.001`
            with r beside the mean in the parameters, ``[*shape, 2]``; scale the data to about 1 then.

    Example:
        >>> likelihood = Normal(scale=1.0)
        >>> likelihood.log_prob(torch.zeros(2, 3), torch.zeros(2, 3))
        tensor([-2.7568, -2.7568])
        >>> Normal().parameter_shape((3, 32, 32))
        (3, 32, 32, 2)
    """

    def log_prob(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Log-densities of items, ``[..., B]``."""
        parameters, x = self._aligned(parameters, x)
        return sum_items(log_normal(x, *self.location_and_scale(parameters)), x)

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every element."""
        return draw_normal(*self.location_and_scale(parameters), generator)


def log_normal(x: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
    """Log-densities of numbers under normal distributions."""
    return -0.5 * ((x - mean) / deviation).square() - deviation.log() - HALF_LOG_2PI


def draw_normal(mean: Tensor, deviation: Tensor, generator: torch.Generator | None) -> Tensor:
    """One draw from every normal distribution."""
    noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
    return mean + deviation * noise
