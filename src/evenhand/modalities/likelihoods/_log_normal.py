"""Positive numbers whose logarithms have normal noise."""

from __future__ import annotations

import torch
from torch import Tensor

from ._likelihood import sum_items
from ._location_scale import LocationScale
from ._normal import draw_normal, log_normal

LARGEST = 80.0  # of exponents: beyond all data, and still a number in single precision


class LogNormal(LocationScale):
    r"""Positive numbers, such as prices and concentrations, whose logarithms are normal.

    .. math:: \log p(x | \mu, \sigma) = \log N(\log x; \mu, \sigma^2) - \log x

    Encoders see log x. The guess is the median :math:`e^\mu`: where the spread is wide, the mode is near zero and
    the mean :math:`e^{\mu + \sigma^2 / 2}` beyond nearly all data.

    Args:
        scale: The standard deviation of all logarithms. None: each element has its own,
            :math:`\mathrm{softplus}(r) + 0.001` with r beside :math:`\mu` in the parameters, ``[*shape, 2]``.

    Example:
        >>> likelihood = LogNormal(scale=0.5)
        >>> likelihood.guess(torch.zeros(1, 2))
        tensor([[1., 1.]])
        >>> likelihood.mean(torch.zeros(1, 2))
        tensor([[1.1331, 1.1331]])
    """

    def inputs(self, x: Tensor) -> Tensor:
        """The logarithms."""
        return x.log()

    def log_prob(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Log-densities of items, ``[..., B]``."""
        parameters, x = self._aligned(parameters, x)
        logarithm = x.log()
        log_p = log_normal(logarithm, *self.location_and_scale(parameters)) - logarithm
        return sum_items(log_p, x)

    def mean(self, parameters: Tensor) -> Tensor:
        """The expected numbers."""
        location, scale = self.location_and_scale(parameters)
        return (location + 0.5 * scale.square()).clamp(max=LARGEST).exp()

    def guess(self, parameters: Tensor) -> Tensor:
        """The medians."""
        return self.location_and_scale(parameters)[0].clamp(max=LARGEST).exp()

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every element."""
        return draw_normal(*self.location_and_scale(parameters), generator).clamp(max=LARGEST).exp()

    def check(self, x: Tensor) -> None:
        """All should be above zero."""
        if x.numel() and x.min() <= 0:
            raise ValueError(
                f"values should be above zero. Found {x.min().item():g}; add a small number to all, or use Normal."
            )
