"""What a weighting of losses is: T losses in, one total out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

Losses = Mapping[str, Tensor] | Sequence[Tensor] | Tensor


class LossWeighting(nn.Module, ABC):
    r"""A rule that looks at losses, and not at gradients, and weighs them: the total is :math:`\sum_t w_t L_t`.

    A weighting is called on the losses of a step and returns the total to differentiate. It is no `Method`: a block
    may stand behind it, and settles the gradients of the losses as they are weighed.

    The T losses are a mapping, a sequence or one tensor ``[..., T]``. Each is a number; a stack of models has one
    for every replica, and then so has the total. A mapping may come in any order: that of the first one stays.
    """

    _names: list[str] | None = None

    def forward(self, losses: Losses, /) -> Tensor:
        """The weighted total, in the shape of one loss."""
        return self.total(stacked(self.in_order(losses)))

    def in_order(self, losses: Losses) -> Losses:
        """The losses of a mapping in the order of the first one; others as they are."""
        if not isinstance(losses, Mapping):
            return losses
        if self._names is None:
            self._names = list(losses)
        if set(losses) != set(self._names):
            raise ValueError(f"losses should have the names {self._names} of the first step. Found {list(losses)}.")
        return [losses[name] for name in self._names]

    @abstractmethod
    def total(self, losses: Tensor, /) -> Tensor:
        """The total ``[...]`` of losses ``[..., T]``."""


def stacked(losses: Losses) -> Tensor:
    """Losses as one tensor ``[..., T]``."""
    if isinstance(losses, Tensor):
        if losses.ndim:
            return losses
        raise ValueError("losses should be several losses, [..., T]. Found a single number.")
    several = list(losses.values() if isinstance(losses, Mapping) else losses)
    if not several or not all(isinstance(loss, Tensor) for loss in several):
        raise ValueError(f"losses should be a mapping or sequence of tensors, one for each loss. Found {losses!r}.")
    if len({loss.shape for loss in several}) > 1:
        shapes = ", ".join(str(list(loss.shape)) for loss in several)
        raise ValueError(f"losses should all have one shape, [] for single numbers. Found {shapes}.")
    return torch.stack(several, -1)


def check_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """The shape of the losses, from their number or for a stack of models."""
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if not sizes or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in sizes):
        raise ValueError(f"shape should be the number of losses, or a shape that ends with it. Found {shape!r}.")
    return sizes


def check_same(losses: Tensor, expected: Sequence[int]) -> Tensor:
    """The losses, if there is one for everything that was learnt."""
    if losses.shape != torch.Size(expected):
        raise ValueError(
            f"losses should have the shape {list(expected)} that the weighting was made for. Found "
            f"{list(losses.shape)}."
        )
    return losses
