"""Binary columns: Bernoulli probabilities in natural parameters."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


class Bernoulli:
    r"""n binary columns with log-odds :math:`\eta`: :math:`\log p = x \eta - \log(1 + e^\eta)`.

    Args:
        n: Number of columns.
    """

    def __init__(self, n: int) -> None:
        self.n = self.n_parameters = self.n_targets = n
        self.heads = list(range(n))

    def constrain(self, raw: Tensor) -> Tensor:
        """Log-odds are unconstrained."""
        return raw

    def log_prob(self, eta: Tensor, x: Tensor, raw: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Log-probabilities and their slopes in eta."""
        return x * eta - F.softplus(eta), x - torch.sigmoid(eta)

    def marginal(self, mean: Tensor) -> Tensor:
        """Log-odds for given frequencies."""
        return torch.logit(mean, eps=1e-3)

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every column, 0 or 1."""
        numbers = torch.rand(eta.shape, generator=generator, device=eta.device, dtype=eta.dtype)
        return (numbers < torch.sigmoid(eta)).to(eta.dtype)
