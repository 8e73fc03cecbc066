"""OGM-GE, a rival for classifiers of two modalities: hold back the encoder of the one that answers better.

Peng et al., "Balanced Multimodal Learning via On-the-fly Gradient Modulation", CVPR 2022.
"""

from __future__ import annotations

import torch
from torch import Tensor


def scores(logits: Tensor, labels: Tensor) -> Tensor:
    """How much a modality alone believes in the right classes, summed over a batch: ``[S, C]``.

    Args:
        logits: What the modality adds to the joint logits, ``[S, C, B, classes]``.
        labels: The right classes, ``[S, B]``.
    """
    index = labels[:, None, :, None].expand(-1, logits.shape[1], -1, 1)
    return logits.softmax(-1).gather(-1, index).squeeze(-1).sum(-1)


def coefficients(own: Tensor, other: Tensor, alpha: Tensor) -> Tensor:
    """k = 1 - tanh(alpha rho) for the modality that is ahead, rho = own / other > 1, and 1 for the other one."""
    rho = own / other
    return torch.where(rho > 1, 1 - torch.tanh(alpha * rho), 1.0)


def modulate(gradient: Tensor, k: Tensor) -> Tensor:
    """The gradient ``[S, C, ...]`` of a parameter times k ``[S, C]``, and noise as strong as the gradient was.

    The noise is the "generalization enhancement": what modulation takes away from the noise of the gradient.
    """
    shape = (*k.shape, *(1 for _ in gradient.shape[2:]))
    spread = gradient.flatten(2).std(-1).reshape(shape)
    return k.reshape(shape) * gradient + spread * torch.randn_like(gradient)
