"""Weights drawn anew in every step."""

from __future__ import annotations

import torch
from torch import Tensor

from ._loss_weighting import LossWeighting


class RandomWeighting(LossWeighting):
    r"""Weigh losses at random, anew in every step: a rule that learns nothing should beat no rule that does.

    .. math:: w = \mathrm{softmax}(\epsilon), \qquad \epsilon_t \sim \mathcal{N}(0, 1)

    Weights are positive and add up to one; on average they are equal. A stack of models has weights of its own for
    every replica.

    Lin et al., "Reasonable Effectiveness of Random Weighting: A Litmus Test for Multi-Task Learning", TMLR 2022.

    Args:
        generator: Where the random numbers come from; torch's default generator if None.

    Example:
        >>> total = RandomWeighting(generator=torch.Generator().manual_seed(0))
        >>> total([torch.tensor(1.0), torch.tensor(1.0)])  # weights add up to one
        tensor(1.)
    """

    def __init__(self, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.generator = generator

    def total(self, losses: Tensor, /) -> Tensor:
        device = losses.device if self.generator is None else self.generator.device
        normals = torch.randn(losses.shape, generator=self.generator, device=device)
        return (losses * normals.softmax(-1).to(losses)).sum(-1)
