"""Zeros and ones, and grey in between."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from ._likelihood import Likelihood, full_precision, smallest_wrong, sum_items


class Bernoulli(Likelihood):
    r"""Zeros and ones with log-odds :math:`\eta`, such as black and white images.

    .. math:: \log p(x | \eta) = x \eta - \log(1 + e^\eta)

    Grey values between 0 and 1 are accepted as is usual, and bytes (uint8) as pixels from 0 to 255; for them this
    is a cross-entropy and no density.

    Example:
        >>> likelihood = Bernoulli()
        >>> likelihood.log_prob(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
        tensor([-1.3863])
    """

    def log_prob(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Log-probabilities of items, ``[..., B]``."""
        logits, x = self._aligned(parameters, x)
        # in one kernel, and exact also where softplus(logits) equals the logits
        return sum_items(-F.binary_cross_entropy_with_logits(logits, x.expand_as(logits), reduction="none"), x)

    def mean(self, parameters: Tensor) -> Tensor:
        """The probabilities of ones."""
        return torch.sigmoid(full_precision(parameters))

    def guess(self, parameters: Tensor) -> Tensor:
        """The more probable of 0 and 1."""
        logits = full_precision(parameters)
        return (logits >= 0).to(logits.dtype)

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every element, 0 or 1."""
        return torch.bernoulli(self.mean(parameters), generator=generator)

    def check(self, x: Tensor) -> None:
        """All should be from 0 to 1, or bytes from 0 to 255."""
        if x.dtype == torch.uint8:
            return
        wrong = smallest_wrong(x, 0, 1)
        if wrong is not None:
            raise ValueError(f"values should be from 0 to 1. Found {wrong:g}; scale them, or use Normal.")
