"""Weights that someone has chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ._loss_weighting import Losses, LossWeighting, stacked


class FixedWeights(LossWeighting):
    r"""Losses times numbers that stay as they are, :math:`\sum_t w_t L_t`: the rival to beat.

    With all weights 1 it is "unitary scalarization". With weights that were tried on validation data it is hard to
    beat: see Kurin et al. and Xin et al., both NeurIPS 2022, and our own `paper/several-losses`.

    Kurin et al., "In Defense of the Unitary Scalarization for Deep Multi-Task Learning", NeurIPS 2022.

    Args:
        weights: One for each loss, in order or by name. For a stack of models ``[..., T]``.

    Example:
        >>> total = FixedWeights({"depth": 1.0, "edges": 10.0})
        >>> total({"edges": torch.tensor(0.5), "depth": torch.tensor(2.0)})
        tensor(7.)
    """

    weights: Tensor

    def __init__(self, weights: Mapping[str, float] | Sequence[float] | Tensor) -> None:
        super().__init__()
        self.names = list(weights) if isinstance(weights, Mapping) else None
        values = list(weights.values()) if isinstance(weights, Mapping) else weights
        numbers = torch.as_tensor(values, dtype=torch.get_default_dtype())
        if numbers.ndim < 1 or not (numbers.isfinite() & (numbers >= 0)).all():
            raise ValueError(f"weights should be numbers >= 0, one for each loss. Found {weights!r}.")
        self.register_buffer("weights", numbers)

    def forward(self, losses: Losses, /) -> Tensor:
        return self.total(stacked(losses if self.names is None else self._ordered(losses)))

    def total(self, losses: Tensor, /) -> Tensor:
        if losses.shape[-1] != self.weights.shape[-1]:
            raise ValueError(
                f"losses should be {self.weights.shape[-1]}, one for each weight. Found {losses.shape[-1]}."
            )
        return (losses * self.weights.to(losses)).sum(-1)

    def _ordered(self, losses: Losses) -> list[Tensor]:
        assert self.names is not None
        if not isinstance(losses, Mapping) or set(losses) != set(self.names):
            found = list(losses) if isinstance(losses, Mapping) else type(losses).__name__
            raise ValueError(f"losses should be a mapping with the names {self.names} of the weights. Found {found}.")
        return [losses[name] for name in self.names]

    def extra_repr(self) -> str:
        weights = self.weights.tolist()
        return str(weights if self.names is None else dict(zip(self.names, weights, strict=True)))
