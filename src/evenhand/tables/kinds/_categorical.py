"""Categorical columns of one size: softmax probabilities."""

from __future__ import annotations

import torch
from torch import Tensor


class Categorical:
    r"""n columns of c categories with logits :math:`\eta`; targets are one-hot.

    .. math:: \log p = \eta_x - \log \sum_i e^{\eta_i}, \qquad
              \frac{\partial \log p}{\partial \eta_i} = [x = i] - \pi_i

    Args:
        n: Number of columns.
        size: Number of categories c.
    """

    def __init__(self, n: int, size: int) -> None:
        self.n, self.size = n, size
        self.n_parameters = self.n_targets = n * size
        self.heads = [i for i in range(n) for _ in range(size)]

    def constrain(self, raw: Tensor) -> Tensor:
        """Logits are unconstrained."""
        return raw

    def log_prob(self, eta: Tensor, x: Tensor, raw: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Log-probabilities ``[..., n]`` and their slopes in eta ``[..., n * c]``, for one-hot x."""
        log_pi = self.log_probabilities(eta)
        one_hot = x.unflatten(-1, (self.n, self.size))
        return (one_hot * log_pi).sum(-1), (one_hot - log_pi.exp()).flatten(-2)

    def marginal(self, mean: Tensor) -> Tensor:
        """Logits for given frequencies ``[..., n * c]``."""
        return mean.clamp(min=1e-3).log()

    def log_probabilities(self, eta: Tensor) -> Tensor:
        """Logarithms of the probabilities, ``[..., n, c]``."""
        return torch.log_softmax(eta.unflatten(-1, (self.n, self.size)), -1)

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every column, as codes."""
        log_pi = self.log_probabilities(eta)
        numbers = torch.rand(log_pi.shape, generator=generator, device=eta.device, dtype=torch.float64)
        # the largest of log pi plus Gumbel noise is a draw from pi
        return (log_pi - torch.log(-numbers.clamp(min=1e-300).log())).argmax(-1).to(eta.dtype)
