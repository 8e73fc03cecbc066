"""Densities estimated from importance weights."""

from __future__ import annotations

import torch
from torch import Tensor

from ..objectives import iwae


def importance_weighted(log_weights: Tensor, /) -> Tensor:
    r"""The logarithm of the mean of K importance weights, a lower bound of log p(x) that tightens with K.

    .. math:: \log \frac{1}{K} \sum_k \exp(\ell_k), \qquad \ell_k = \log p(x, z_k) - \log q(z_k \mid x)

    Burda, Grosse and Salakhutdinov, "Importance Weighted Autoencoders", ICLR 2016.

    Args:
        log_weights: The logarithms :math:`\ell` of the weights, ``[..., K, N]``.

    Returns:
        One number per row, ``[..., N]``.
    """
    _check(log_weights)
    return iwae(log_weights)


def effective_sample_size(log_weights: Tensor, /) -> Tensor:
    r"""How many of K draws count: :math:`(\sum_k w_k)^2 / \sum_k w_k^2`, between 1 and K.

    Args:
        log_weights: The logarithms of the weights, ``[..., K, N]``.

    Returns:
        One number per row, ``[..., N]``; 0 where all weights are zero.
    """
    _check(log_weights)
    total, squares = log_weights.logsumexp(-2), (2 * log_weights).logsumexp(-2)
    return torch.where(total == -torch.inf, 0.0, (2 * total - squares).exp())


def _check(log_weights: Tensor) -> None:
    if log_weights.ndim < 2 or not log_weights.shape[-2]:
        found = list(log_weights.shape)
        raise ValueError(f"log_weights should have the shape [..., K, N] with K at least 1. Found {found}.")
