"""Categorical columns: softmax probabilities, all columns of one size at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ..schema import Kind
from ._density import Density
from ._gaussian import Parameters
from ._group import Group, Statistics
from ._kind import ColumnKind, Encoding


class Categorical(Density):
    r"""n columns of c categories with logits :math:`\eta`; targets are one-hot.

    .. math:: \log p = \eta_x - \log \sum_i e^{\eta_i}, \qquad
              \frac{\partial \log p}{\partial \eta_i} = [x = i] - \pi_i

    Args:
        n: Number of columns.
        size: Number of categories c.
    """

    def __init__(self, n: int, size: int) -> None:
        super().__init__([i for i in range(n) for _ in range(size)], n * size)
        self.size = size

    def targets(self, x: Tensor) -> Tensor:
        """One-hot, ``[..., n * c]``, from codes ``[..., n]``."""
        return F.one_hot(x.long(), self.size).flatten(-2).to(x.dtype)

    def log_prob(self, eta: Tensor, x: Tensor, raw: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Log-probabilities ``[..., n]`` and their slopes in eta ``[..., n * c]``, for one-hot x."""
        log_pi = self._log_probabilities(eta)
        one_hot = self._by_column(x)
        return (one_hot * log_pi).sum(-1), (one_hot - log_pi.exp()).flatten(-2)

    def marginal(self, mean: Tensor) -> Tensor:
        """Logits for given frequencies ``[..., n * c]``."""
        return mean.clamp(min=1e-3).log()

    def expectation(self, eta: Tensor) -> Tensor:
        """Probabilities of all categories, ``[..., n * c]``."""
        return self._log_probabilities(eta).exp().flatten(-2)

    def guess(self, eta: Tensor) -> Tensor:
        """The most probable category, as code."""
        return self.decide(eta)

    def decide(self, expectation: Tensor) -> Tensor:
        """The category with the largest number, as code."""
        return self._by_column(expectation).argmax(-1).to(expectation.dtype)

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every column, as codes."""
        log_pi = self._log_probabilities(eta)
        numbers = torch.rand(log_pi.shape, generator=generator, device=eta.device, dtype=torch.float64)
        # the largest of log pi plus Gumbel noise is a draw from pi
        return (log_pi - torch.log(-numbers.clamp(min=1e-300).log())).argmax(-1).to(eta.dtype)

    def _log_probabilities(self, eta: Tensor) -> Tensor:
        return torch.log_softmax(self._by_column(eta), -1)

    def _by_column(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n, self.size))


class Categories(Group):
    """Columns of one number of categories, side by side, with or without an order."""

    @staticmethod
    def _density(columns: Sequence[NominalColumn], parameters: Parameters) -> Categorical:
        return Categorical(len(columns), columns[0].column.size)

    def natural(self, locations: Sequence[Tensor], scales: Sequence[Tensor], statistics: Statistics | None) -> Tensor:
        """Logits, as every column makes them."""
        outputs = zip(self.columns, locations, scales, strict=True)
        return torch.cat([column.logits(location, scale) for column, location, scale in outputs], -1)


class NominalColumn(ColumnKind):
    """Categories as their codes, 0 to C - 1."""

    group = Categories

    @abstractmethod
    def logits(self, location: Tensor, scale: Tensor) -> Tensor:
        """Logits ``[..., C]`` from HI-VAE's outputs."""

    def inputs(self, x: Tensor, encoding: Encoding) -> Tensor:
        """One input per category, or the code."""
        return x.unsqueeze(-1) if encoding == "codes" else F.one_hot(x.long(), self.column.size).to(x.dtype)


class CategoricalColumn(NominalColumn):
    """Categories without an order."""

    kind = Kind.CATEGORICAL

    @property
    def n_locations(self) -> int:
        """All logits but the first, which is zero."""
        return self.column.size - 1

    def logits(self, location: Tensor, scale: Tensor) -> Tensor:
        """The first logit is zero."""
        return F.pad(location, (1, 0))
