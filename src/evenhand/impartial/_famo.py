"""Weights learnt so that all losses fall at the same rate."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ._loss_weighting import Losses, LossWeighting, check_same, check_shape, stacked

BETAS, EPSILON = (0.9, 0.999), 1e-8


class FAMO(LossWeighting):
    r"""Let the logarithms of all losses fall at the same rate, without any gradient per loss.

    .. math:: c \sum_t z_t \log L_t, \qquad z = \mathrm{softmax}(\xi), \qquad
              c = \Bigl(\sum_t z_t / L_t\Bigr)^{-1}

    so the weight of loss t is :math:`c z_t / L_t`, and these add up to one. Once the optimiser has made its step,
    `update` is given the losses of the same batch again, and the logits take a step along

    .. math:: \delta = \nabla_\xi \sum_t z_t \, (\log L_t^\text{before} - \log L_t^\text{after}) + \gamma \, \xi

    which lowers the weights of the losses that have fallen fastest. Algorithm 1 of the paper subtracts
    :math:`\beta \delta`; as the published code does, Adam takes this step here.

    Losses should be positive, or above their `floor`. All of them are computed twice in every step.

    Liu et al., "FAMO: Fast Adaptive Multitask Optimization", NeurIPS 2023.

    Args:
        shape: The number of losses T, or ``(..., T)`` for a stack of models.
        lr: The learning rate :math:`\beta` of the logits.
        decay: What draws the logits back to zero, :math:`\gamma`.
        floor: The least that a loss can be, subtracted before the logarithm: one number or one for each loss.

    Example:
        >>> x, model = torch.ones(4, 2), torch.nn.Linear(2, 2)
        >>> optimizer, weighting = torch.optim.SGD(model.parameters(), lr=0.1), FAMO(2)
        >>> weighting(model(x).square().mean(0)).backward()
        >>> optimizer.step()
        >>> weighting.update(model(x).square().mean(0))
    """

    logits: Tensor
    moments: Tensor  # [2, ..., T], those of Adam
    steps: Tensor  # [1]
    floor: Tensor

    def __init__(
        self,
        shape: int | Sequence[int],
        *,
        lr: float = 0.025,
        decay: float = 1e-3,
        floor: float | Sequence[float] | Tensor = 0.0,
    ) -> None:
        super().__init__()
        if not lr > 0:
            raise ValueError(f"lr should be a number > 0. Found {lr!r}.")
        if not decay >= 0:
            raise ValueError(f"decay should be a number >= 0. Found {decay!r}.")
        self.lr, self.decay = lr, decay
        logits = torch.zeros(check_shape(shape))
        self.register_buffer("logits", logits)
        self.register_buffer("moments", torch.stack([logits, logits]))
        self.register_buffer("steps", torch.zeros(1))
        self.register_buffer("floor", torch.as_tensor(floor, dtype=logits.dtype))
        self._before: Tensor | None = None

    def reset(self) -> None:
        """Forget everything learnt."""
        for state in (self.logits, self.moments, self.steps):
            state.zero_()
        self._before = None

    def total(self, losses: Tensor, /) -> Tensor:
        logs = self._logs(losses)
        self._before = logs.detach()
        z = self.logits.softmax(-1).to(losses)
        c = 1 / (z * (-self._before).exp()).sum(-1)
        return c * (z * logs).sum(-1)

    @torch.no_grad()
    def update(self, losses: Losses, /) -> None:
        """Learn from the losses of the same batch after the step of the optimiser."""
        if self._before is None:
            raise RuntimeError("update needs to know the losses before the step: call the weighting on them first.")
        slope = self._slope(self._before - self._logs(stacked(self.in_order(losses))))
        self._before = None
        self._descend(slope)

    def _logs(self, losses: Tensor) -> Tensor:
        return (check_same(losses, self.logits.shape) - self.floor.to(losses) + EPSILON).log()

    def _slope(self, gains: Tensor) -> Tensor:
        """The gradient of sum_t z_t gain_t with respect to the logits, and the pull back to zero."""
        z = self.logits.softmax(-1)
        gains = gains.to(z)
        return z * (gains - (z * gains).sum(-1, keepdim=True)) + self.decay * self.logits

    def _descend(self, slope: Tensor) -> None:
        # Adam by hand: nothing to add to an optimiser, and nothing that a CUDA graph could not record
        valid = slope.sum(-1, keepdim=True).isfinite()  # a loss that is not finite teaches nothing
        new = [torch.lerp(x, old, b) for x, old, b in zip((slope, slope.square()), self.moments, BETAS, strict=True)]
        self.moments.copy_(torch.where(valid, torch.stack(new), self.moments))
        self.steps.add_(valid.any())
        mean = self.moments[0] / (1 - BETAS[0] ** self.steps)
        size = (self.moments[1] / (1 - BETAS[1] ** self.steps)).sqrt() + EPSILON
        self.logits.sub_(torch.where(valid, self.lr * mean / size, 0.0))

    def extra_repr(self) -> str:
        return f"shape={tuple(self.logits.shape)}, lr={self.lr}, decay={self.decay}"
