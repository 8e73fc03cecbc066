"""Weights of samples that are known only after the samples have been used."""

from __future__ import annotations

from torch import Tensor

from ...impartial import scale_gradient


class LateWeights:
    """What DReG multiplies the gradients at samples z by.

    Samples are handed to decoders and densities at once, and how much each counts follows from what these say. But
    only the backward pass needs the weights: all views of the samples refer to one tensor, which is ones in the
    forward pass and is filled in before the backward pass begins.

    Tucker et al., "Doubly Reparameterized Gradient Estimators for Monte Carlo Objectives", ICLR 2019.

    Args:
        noise: Of the samples, ``[A, K, B, L]``.
    """

    def __init__(self, noise: Tensor) -> None:
        self._weights = noise.new_ones(*noise.shape[:-1], 1)

    def apply(self, view: Tensor) -> Tensor:
        """A view of the samples ``[A, K, B, L]``; its gradient will be multiplied by the weights."""
        return scale_gradient(view, self._weights)

    def settle(self, weights: Tensor) -> None:
        """Say what the weights are, ``[A, K, B]``: once, after the forward pass and before the backward pass."""
        self._weights.copy_(weights.unsqueeze(-1))
