"""Counts."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ...tables.kinds import LOG_RATES
from ._likelihood import Likelihood, full_precision, smallest_wrong, sum_items


class Poisson(Likelihood):
    r"""Counts with log-rates :math:`\eta`, such as words in a document or transcripts in a cell.

    .. math:: \log p(x | \eta) = x \eta - e^\eta - \log x!

    Outside of a wide range the rate stays at its bound while the slope :math:`x - e^\eta` still points back, so
    that one wild step cannot end the training. Encoders see log(1 + x); the guess is the mode.

    Example:
        >>> likelihood = Poisson()
        >>> likelihood.log_prob(torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 2.0]]))
        tensor([-2.6931])
        >>> likelihood.guess(torch.tensor([[1.0]]))
        tensor([[2.]])
    """

    def prepare(self, x: Tensor) -> Tensor:
        """The counts as numbers; those in bytes too are counts and no pixels."""
        return x if x.is_floating_point() else x.to(torch.get_default_dtype())

    def inputs(self, x: Tensor) -> Tensor:
        """log(1 + x)."""
        return x.log1p()

    def log_prob(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Log-probabilities of items, ``[..., B]``."""
        parameters, x = self._aligned(parameters, x)
        log_rate = _Bounded.apply(parameters)
        return sum_items(x * log_rate - log_rate.exp() - torch.lgamma(x + 1), x)

    def mean(self, parameters: Tensor) -> Tensor:
        """The rates."""
        return full_precision(parameters).clamp(*LOG_RATES).exp()

    def guess(self, parameters: Tensor) -> Tensor:
        """The most probable counts: the rates, rounded down."""
        return self.mean(parameters).floor()

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every count."""
        return torch.poisson(self.mean(parameters), generator)

    def check(self, x: Tensor) -> None:
        """All should be whole and not negative."""
        wrong = smallest_wrong(x, 0, math.inf, whole=True)
        if wrong is not None:
            raise ValueError(
                f"values should be whole numbers, 0 or more. Found {wrong:g}; use Normal or LogNormal for what is "
                "measured and not counted."
            )


class _Bounded(torch.autograd.Function):
    """Log-rates within their bounds; gradients pass as if there were none."""

    generate_vmap_rule = True

    @staticmethod
    def forward(log_rate: Tensor) -> Tensor:
        return log_rate.clamp(*LOG_RATES)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *incoming: Tensor) -> Any:
        return incoming[0]
