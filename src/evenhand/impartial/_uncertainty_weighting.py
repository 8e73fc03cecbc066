"""Weights learnt as the noise of each loss."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ._loss_weighting import LossWeighting, check_same, check_shape


class UncertaintyWeighting(LossWeighting):
    r"""Divide every loss by a variance that is learnt along with the model.

    .. math:: \tfrac12 \sum_t \left( e^{-s_t} L_t + s_t \right), \qquad s_t = \log \sigma_t^2

    It is the likelihood of Gaussian errors whose mean square is L. The best s for given losses is
    :math:`e^{-s_t} = 1 / L_t`, so that a loss that is small gets a large weight. The paper weighs a cross-entropy
    twice as much against its variance: give the rule twice that loss.

    The log-variances `log_variances` are parameters: add ``weighting.parameters()`` to the optimiser.

    Kendall, Gal and Cipolla, "Multi-Task Learning Using Uncertainty to Weigh Losses for Scene Geometry and
    Semantics", CVPR 2018.

    Args:
        shape: The number of losses T, or ``(..., T)`` for a stack of models.

    Example:
        >>> weighting = UncertaintyWeighting(2)
        >>> weighting([torch.tensor(1.0), torch.tensor(3.0)])
        tensor(2., grad_fn=<SumBackward1>)
    """

    def __init__(self, shape: int | Sequence[int]) -> None:
        super().__init__()
        self.log_variances = nn.Parameter(torch.zeros(check_shape(shape)))

    def reset(self) -> None:
        """Forget everything learnt."""
        with torch.no_grad():
            self.log_variances.zero_()

    def total(self, losses: Tensor, /) -> Tensor:
        s = self.log_variances
        return (0.5 * ((-s).exp() * check_same(losses, s.shape) + s)).sum(-1)

    def extra_repr(self) -> str:
        return f"shape={tuple(self.log_variances.shape)}"
