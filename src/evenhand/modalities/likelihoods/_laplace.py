"""Numbers with noise that has heavy tails."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._likelihood import sum_items
from ._location_scale import LocationScale


class Laplace(LocationScale):
    r"""Numbers with Laplace noise: reconstructions are medians, which are sharper than means.

    .. math:: \log p(x | \mu, b) = -\frac{|x - \mu|}{b} - \log 2 b

    Args:
        scale: b of all elements. None: each has its own, :math:`\mathrm{softplus}(r) + 0.001` with r beside
            :math:`\mu` in the parameters, ``[*shape, 2]``.

    Example:
        >>> likelihood = Laplace(scale=0.5)
        >>> likelihood.log_prob(torch.zeros(1, 2), torch.tensor([[1.0, -0.5]]))
        tensor([-3.])
    """

    def __init__(self, scale: float | None = 0.75) -> None:
        super().__init__(scale)

    def log_prob(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Log-densities of items, ``[..., B]``."""
        parameters, x = self._aligned(parameters, x)
        location, scale = self.location_and_scale(parameters)
        if self.scale is not None and x.ndim > 1:
            # one pass over the pixels forward and one backward: they outnumber everything else in a model of images
            distance = torch.linalg.vector_norm(location - x, 1, dim=tuple(range(1 - x.ndim, 0)))
            return -distance / self.scale - math.prod(x.shape[1:]) * math.log(2 * self.scale)
        return sum_items(-(x - location).abs() / scale - torch.log(2 * scale), x)

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every element."""
        location, scale = self.location_and_scale(parameters)
        first, second = (torch.empty_like(location).exponential_(generator=generator) for _ in range(2))
        return location + scale * (first - second)
