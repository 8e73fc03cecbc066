"""Weights that are learnt so that all gradients become equally long."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from . import _settle_kernel
from ._gradnorm_of_one import BETAS, EPSILON, FLOOR, TINY, adam, in_mean_norms, slope_of, weights_of
from ._method import Scaling
from ._numbers import are_few, as_tensor
from ._settle_kernel import KernelStep


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

    learns = True

    state: Tensor  # [4, ..., T]: the logits a, Adam's two moments, and the reference norms n^0
    steps: Tensor  # [1], one-dimensional because torch.compile loses updates of 0-d counters

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
        self.register_buffer("state", torch.empty(4, 0))  # T is known from the first backward pass on
        self.register_buffer("steps", torch.zeros(1, dtype=torch.long))

    def reset(self) -> None:
        """Forget everything learnt."""
        self.state = torch.empty(4, 0, device=self.state.device)
        self.steps.zero_()

    def weights(self, gram: Tensor, /) -> Tensor:
        squares = gram.diagonal(dim1=-2, dim2=-1)
        self._start(squares)
        if are_few(squares):
            return self._weights_of_one(squares)
        norms = squares.sqrt()
        positive = self.state[0].exp().clamp(min=FLOOR)
        weights = positive * (positive.shape[-1] / positive.sum(-1, keepdim=True))
        if self.training:
            self._learn(norms, weights)
        return weights

    def _weights_of_one(self, squares: Tensor) -> Tensor:
        state = self.state
        logits, mean, square, reference = state.tolist()
        weights = weights_of(logits)
        if self.training:
            norms = in_mean_norms([sqrt(max(s, 0.0)) for s in squares.tolist()])
            steps = int(self.steps.item())
            if steps == self.reference_step:
                reference = norms
            reference = [norm if known == 0 else known for norm, known in zip(norms, reference, strict=True)]
            slope = slope_of(norms, weights, reference, self.alpha)
            if slope is not None:
                learnt = adam(logits, mean, square, slope, norms, steps + 1, self.lr) + reference
                state.copy_(as_tensor(learnt, state.dtype).view_as(state))
                self.steps.fill_(steps + 1)
        return as_tensor(weights, state.dtype)

    def kernel_step(self, like: Tensor, /) -> KernelStep | None:
        if not self.training:
            return None
        self._start(like)
        numbers = (float(self.alpha), float(self.lr), float(self.reference_step))
        return KernelStep(_settle_kernel.GRADNORM, numbers, self.state, self.steps)

    def _learn(self, norms: Tensor, weights: Tensor) -> None:
        slope, reference = self._slope(norms, weights)
        steps = self.steps + 1
        mean = torch.lerp(slope, self.state[1], BETAS[0])
        square = torch.lerp(slope.square(), self.state[2], BETAS[1])
        size = (square / (1 - BETAS[1] ** steps)).sqrt() + EPSILON
        logits = torch.addcdiv(self.state[0], mean / (1 - BETAS[0] ** steps), size, value=-self.lr)
        moved = torch.where(norms != 0, torch.stack([logits, mean, square]), self.state[:3])
        learnt = torch.cat([moved, reference.unsqueeze(0)])
        valid = slope.sum(-1, keepdim=True).isfinite()
        self.state.copy_(torch.where(valid, learnt, self.state))
        self.steps.add_(valid.any())

    def _slope(self, norms: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The gradient of L / mean norm with respect to a, and the reference norms."""
        active = norms != 0
        number = active.sum(-1, keepdim=True).clamp(min=1)
        # everything in units of the mean norm; a head without gradient takes no part
        norms = norms * (number / (norms.sum(-1, keepdim=True) + TINY))
        reference = torch.where(self.steps == self.reference_step, norms, self.state[3])
        reference = torch.where(reference == 0, norms, reference)  # of a head that was missing then: its next one
        weighted = weights * norms
        target = weighted.sum(-1, keepdim=True) / number
        if self.alpha:
            ratio = norms / reference.clamp(min=FLOOR)
            mean = (ratio.sum(-1, keepdim=True) / number).clamp(min=FLOOR)
            target = target * (ratio / mean) ** self.alpha
        pull = norms * (weighted - target).sign()
        # through the softmax over the heads that are there: dw_s / da_t = w_s (delta_st - w_t / their sum)
        there = weights.where(active, 0.0)
        common = (pull * weights).sum(-1, keepdim=True) / (there.sum(-1, keepdim=True) + TINY)
        return there * (pull - common), reference

    def _start(self, norms: Tensor) -> None:
        if self.state.numel() == 0:
            self.state = torch.stack([torch.zeros_like(norms)] * 3 + [torch.ones_like(norms)])
            self.steps = self.steps.to(norms.device)
        if self.state.dtype != norms.dtype or self.state.device != norms.device:  # the model may have changed since
            self.state = self.state.to(norms)
        if self.state.shape[1:] != norms.shape:
            raise ValueError(
                f"GradNorm has learnt weights of shape {list(self.state.shape[1:])} and now meets heads of "
                f"shape {list(norms.shape)}. Give every block a GradNorm of its own, or call reset() to "
                "start over."
            )

    def keep_replicas(self, replicas: Sequence[int], n: int, /) -> None:
        if self.state.numel():  # the replicas are in its second axis
            self.state = self.state[:, list(replicas)]

    def check_heads(self, n: int, /) -> None:
        if self.state.numel() and self.state.shape[-1] != n:
            raise ValueError(
                f"GradNorm has learnt weights for {self.state.shape[-1]} heads. Found {n} heads. Give "
                "every block a GradNorm of its own, or call reset() to start over."
            )

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        # the number of heads is known only from the first backward pass, or from what is loaded
        if (saved := state_dict.get(prefix + "state")) is not None:
            self.state = torch.empty_like(saved, device=self.state.device)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        rare = {"lr": (self.lr, 1e-3), "reference_step": (self.reference_step, 20)}
        return f"alpha={self.alpha}" + "".join(f", {k}={v}" for k, (v, usual) in rare.items() if v != usual)
