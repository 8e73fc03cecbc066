"""Which samples get gradients: the few that carry the weight, chosen so that sums over them are right on average."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ._options import Options

FITS_A_CACHE = 256  # rows in a call of a decoder


@dataclass(frozen=True, eq=False)
class Selection:
    """Some of K samples, or all.

    Attributes:
        index: Which, ``[A, m, B]``; None for all of them as they are.
        weights: What they count, ``[A, m, B]``: sums with these weights have the same expectation as those over all.
    """

    index: Tensor | None
    weights: Tensor

    def take(self, samples: Tensor) -> Tensor:
        """The chosen ones of ``[A, K, B, L]``: ``[A, m, B, L]``."""
        return samples if self.index is None else samples.take_along_dim(self.index.unsqueeze(-1), 1)


@torch.no_grad()
def select(weights: Tensor, number: int, uniform: Tensor) -> Selection:
    r"""Choose m of K samples with weights w: all heavy ones as they are, some light ones with what all of them count.

    A sample is chosen with probability :math:`\pi = \min(1, w / c)` and then counts :math:`w / \pi`, where c is such
    that exactly m are chosen: no other unbiased choice of m has less variance. Where at most m samples have any
    weight, nothing is left to chance.

    Fearnhead and Clifford, "On-line inference for hidden Markov models via particle filters", JRSS B, 2003.

    Args:
        weights: Not negative, ``[A, K, B]``.
        number: m, at most K.
        uniform: A random number from 0 to 1 for every expert and row, ``[A, B]``.
    """
    ordered, order = weights.double().sort(1, descending=True)
    probability = _probabilities(ordered, number)
    # systematic: the u-th, (1 + u)-th, (2 + u)-th ... unit of the probabilities, which sum to m, names a sample
    ends = probability.cumsum(1)
    ends = ends * (number / ends[:, -1:].clamp(min=1e-300))
    points = torch.arange(number, device=weights.device).view(1, -1, 1) + uniform.unsqueeze(1).double()
    place = (ends.unsqueeze(1) <= points.unsqueeze(2)).sum(2).clamp(max=weights.shape[1] - 1)  # [A, m, B]
    chosen = ordered.gather(1, place) / probability.gather(1, place).clamp(min=1e-300)
    return Selection(order.gather(1, place), chosen.to(weights.dtype))


def _probabilities(ordered: Tensor, number: int) -> Tensor:
    """The probabilities of samples with descending weights ``[A, K, B]``."""
    k = ordered.shape[1]
    rest = ordered.flip(1).cumsum(1).flip(1)  # the weight from a sample on
    left = torch.arange(k, device=ordered.device).view(1, -1, 1)
    places = (number - left).clamp(min=1)
    # a sample is heavy if it has more than its share of what it and all lighter ones have
    heavy = (ordered * places >= rest) & (left < number)
    heavy = heavy.cumprod(1).bool()  # the first ones only
    n_heavy = heavy.sum(1, keepdim=True)
    light = torch.where(heavy, 0.0, ordered).sum(1, keepdim=True)
    free = number - n_heavy
    probability = torch.where(heavy, 1.0, ordered * free / light.clamp(min=1e-300))
    # where no weight is left, any may fill the places: they count nothing
    idle = (left < number).to(ordered.dtype) * torch.ones_like(ordered)
    return torch.where(light > 0, probability, torch.maximum(heavy.to(ordered.dtype), idle)).clamp(max=1.0)


def rows_at_once(device: torch.device, options: Options) -> int | None:
    """How many rows are decoded at a time where samples are weighed without gradients; None for all of them.

    A GPU takes all: a decoder that keeps nothing for a backward pass has two layers in memory at a time, and smaller
    calls cost some per cent of a step. A CPU takes no more than its cache holds.
    """
    return options.micro_batch or (FITS_A_CACHE if device.type == "cpu" else None)
