"""Weights that are learnt so that all gradients become equally long."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._method import Scaling

FLOOR = 1e-5
BETAS, EPSILON = (0.9, 0.999), 1e-8


class GradNorm(Scaling):
    r"""Learn weights that bring the gradients to a common norm, slowly and smoothly.

    .. math:: w = T \, \mathrm{softmax}(a), \qquad
              L(a) = \textstyle\sum_t \bigl|\, w_t n_t - \bar n \, r_t^\alpha \bigr|, \qquad
              r_t = \frac{n_t / n_t^0}{\mathrm{mean}_s\, n_s / n_s^0}

    where :math:`n_t` are the norms, :math:`\bar n` the mean of :math:`w_t n_t`, and :math:`n^0` the norms
    at an early step. This is the paper's variant: how far a head has converged is read from its
    gradient's norm and not from its loss. The gradient of L is known in closed form and a takes one
    Adam step in every backward pass, so there is nothing to add to an optimiser. ``alpha = 0`` makes
    all norms equal; a larger alpha leaves more to heads that have converged less.

    The state belongs to one block and is saved in its ``state_dict``. A backward pass with a NaN or
    infinite gradient leaves it as it was.

    Chen et al., "GradNorm: Gradient Normalization for Adaptive Loss Balancing", ICML 2018.

    Args:
        alpha: Strength of the pull towards heads that have converged less.
        lr: Learning rate of the weights.
        reference_step: The backward pass whose norms are :math:`n^0`; before it they count as one.
    """

    logits: Tensor  # a [..., T], empty until the first backward pass tells the number of heads
    reference: Tensor  # n^0 [..., T]
    mean: Tensor  # Adam's moments of the gradient with respect to a
    square: Tensor
    steps: Tensor  # [1], one-dimensional because torch.compile loses updates of 0-d counters

    _PER_HEAD = ("logits", "reference", "mean", "square")

    def __init__(self, alpha: float = 0.0, *, lr: float = 1e-3, reference_step: int = 20) -> None:
        super().__init__()
        if not alpha >= 0:
            raise ValueError(f"alpha should be a number >= 0. Found {alpha!r}.")
        if not lr > 0:
            raise ValueError(f"lr should be a number > 0. Found {lr!r}.")
        if reference_step < 0:
            raise ValueError(f"reference_step should be an integer >= 0. Found {reference_step!r}.")
        self.alpha = alpha
        self.lr = lr
        self.reference_step = reference_step
        for name in self._PER_HEAD:
            self.register_buffer(name, torch.empty(0))
        self.register_buffer("steps", torch.zeros(1, dtype=torch.long))

    def reset(self) -> None:
        """Forget everything learnt."""
        for name in self._PER_HEAD:
            setattr(self, name, torch.empty(0, device=self.logits.device))
        self.steps.zero_()

    def weights(self, gram: Tensor, /) -> Tensor:
        norms = gram.diagonal(dim1=-2, dim2=-1).sqrt()
        self._start(norms)
        weights = self._softmax()
        if self.training:
            self._learn(norms, weights)
        return weights

    def _softmax(self) -> Tensor:
        positive = self.logits.exp().clamp(min=FLOOR)
        return positive * (positive.shape[-1] / positive.sum(-1, keepdim=True))

    @torch.no_grad()
    def _learn(self, norms: Tensor, weights: Tensor) -> None:
        slope, reference = self._slope(norms, weights)
        valid = slope.isfinite().all(-1, keepdim=True)
        steps = self.steps + valid.any()
        mean = torch.lerp(slope, self.mean, BETAS[0])
        square = torch.lerp(slope.square(), self.square, BETAS[1])
        unbiased = mean / (1 - BETAS[0] ** steps)
        spread = (square / (1 - BETAS[1] ** steps)).sqrt() + EPSILON
        self.logits.copy_(torch.where(valid, self.logits - self.lr * unbiased / spread, self.logits))
        self.mean.copy_(torch.where(valid, mean, self.mean))
        self.square.copy_(torch.where(valid, square, self.square))
        self.reference.copy_(torch.where(valid, reference, self.reference))
        self.steps.copy_(steps)

    def _slope(self, norms: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The gradient of L / mean norm with respect to a, and the reference norms."""
        active = (norms != 0).to(norms.dtype)
        number = active.sum(-1, keepdim=True).clamp(min=1)
        size = norms.sum(-1, keepdim=True) / number
        norms = norms / size.where(size != 0, 1.0)  # L is taken in units of the mean norm
        reference = torch.where(self.steps == self.reference_step, norms, self.reference)
        ratio = norms / reference.clamp(min=FLOOR)
        ratio = ratio / (ratio.sum(-1, keepdim=True) / number).clamp(min=FLOOR)
        target = (weights * norms).sum(-1, keepdim=True) / number * ratio**self.alpha
        pull = norms * (weights * norms - target).sign() * active
        # through the softmax: dw_s / da_t = w_s (delta_st - w_t / T)
        common = (pull * weights).sum(-1, keepdim=True) / weights.shape[-1]
        return weights * (pull - common), reference

    def _start(self, norms: Tensor) -> None:
        if self.logits.numel() == 0:
            for name in self._PER_HEAD:
                value = torch.ones_like if name == "reference" else torch.zeros_like
                setattr(self, name, value(norms))
        elif self.logits.shape != norms.shape:
            raise ValueError(
                f"GradNorm has learnt weights of shape {list(self.logits.shape)} and now meets heads of "
                f"shape {list(norms.shape)}. Give every block a GradNorm of its own, call reset() to "
                "start over, and do not use it with per_sample=True."
            )

    def check_heads(self, n: int, /) -> None:
        if self.logits.numel() and self.logits.shape[-1] != n:
            raise ValueError(
                f"GradNorm has learnt weights for {self.logits.shape[-1]} heads. Found {n} heads. Give "
                "every block a GradNorm of its own, or call reset() to start over."
            )

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        # the number of heads is known only from the first backward pass, or from what is loaded
        for name in self._PER_HEAD:
            if (saved := state_dict.get(prefix + name)) is not None:
                setattr(self, name, torch.empty_like(saved, device=self.logits.device))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"
