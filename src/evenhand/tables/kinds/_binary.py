"""Binary columns: Bernoulli probabilities in natural parameters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ..schema import Kind
from ._density import Density
from ._gaussian import Parameters
from ._group import Group, Statistics
from ._kind import ColumnKind, Encoding


class Bernoulli(Density):
    r"""n binary columns with log-odds :math:`\eta`: :math:`\log p = x \eta - \log(1 + e^\eta)`.

    Args:
        n: Number of columns.
    """

    def __init__(self, n: int) -> None:
        super().__init__(range(n), n)

    def log_prob(self, eta: Tensor, x: Tensor, raw: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Log-probabilities and their slopes in eta."""
        return x * eta - F.softplus(eta), x - torch.sigmoid(eta)

    def marginal(self, mean: Tensor) -> Tensor:
        """Log-odds for given frequencies."""
        return torch.logit(mean, eps=1e-3)

    def expectation(self, eta: Tensor) -> Tensor:
        """Probabilities of the second category."""
        return torch.sigmoid(eta)

    def guess(self, eta: Tensor) -> Tensor:
        """The more probable category, 0 or 1."""
        return (eta >= 0).to(eta.dtype)

    def decide(self, expectation: Tensor) -> Tensor:
        """The more probable category, 0 or 1."""
        return (expectation >= 0.5).to(expectation.dtype)

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every column, 0 or 1."""
        numbers = torch.rand(eta.shape, generator=generator, device=eta.device, dtype=eta.dtype)
        return (numbers < torch.sigmoid(eta)).to(eta.dtype)


class Binaries(Group):
    """Binary columns side by side."""

    @staticmethod
    def _density(columns: Sequence[BinaryColumn], parameters: Parameters) -> Bernoulli:
        return Bernoulli(len(columns))

    def natural(self, locations: Sequence[Tensor], scales: Sequence[Tensor], statistics: Statistics | None) -> Tensor:
        """HI-VAE's outputs are log-odds."""
        return torch.cat([*locations], -1)


class BinaryColumn(ColumnKind):
    """Two categories, as their codes 0 and 1."""

    kind = Kind.BINARY
    group = Binaries

    def inputs(self, x: Tensor, encoding: Encoding) -> Tensor:
        """The code; for HI-VAE one input per category."""
        return F.one_hot(x.long(), 2).to(x.dtype) if encoding == "hivae" else x.unsqueeze(-1)
