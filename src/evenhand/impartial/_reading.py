"""What the last backward pass through a block looked like."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Reading:
    """The conflict at a block in one backward pass; T heads, ``...`` empty unless per sample.

    Attributes:
        gram: Inner products of the heads' gradients, ``[..., T, T]``.
        weights: How much of each gradient is in the sum that is passed on, ``[..., T]``.
        scale: What the gradients were multiplied with before their inner products were taken, ``[...]``; None for 1.
            Other than 1 only where gradients are so long or short that their squares do not fit float32.
        heads: The names of the heads, where `backward` was given losses.
    """

    gram: Tensor
    weights: Tensor
    scale: Tensor | None = None
    heads: tuple[str, ...] | None = None

    @property
    def norms(self) -> Tensor:
        """The norm of every head's gradient, ``[..., T]``."""
        scaled = self._scaled_norms()
        return scaled if self.scale is None else (scaled / self.scale.unsqueeze(-1)).to(scaled.dtype)

    def _scaled_norms(self) -> Tensor:
        return self.gram.diagonal(dim1=-2, dim2=-1).sqrt()

    @property
    def cosines(self) -> Tensor:
        """The cosine between any two gradients, ``[..., T, T]``; 0 for a head without gradient."""
        norms = self._scaled_norms()
        products = norms.unsqueeze(-1) * norms.unsqueeze(-2)
        return torch.where(products == 0, 0.0, self.gram / products).clamp(-1, 1)

    @property
    def shares(self) -> Tensor:
        """Every head's part of the gradient, ``[..., T]``, |w_t| |g_t| in proportion to their sum."""
        parts = self.weights.abs() * self._scaled_norms()
        total = parts.sum(-1, keepdim=True)
        return torch.where(total == 0, 0.0, parts / total)

    @property
    def agreement(self) -> Tensor:
        """The cosine between every head's gradient and the weighted sum, ``[..., T]``.

        A negative one means that the step makes this head worse.
        """
        weights = self.weights.to(self.gram.dtype)
        products = (self.gram @ weights.unsqueeze(-1)).squeeze(-1)
        length = (weights * products).sum(-1, keepdim=True).clamp(min=0).sqrt()
        lengths = self._scaled_norms() * length
        return torch.where(lengths == 0, 0.0, products / lengths).clamp(-1, 1)
