"""The multimodal Jensen-Shannon objective."""

from __future__ import annotations

import torch
from torch import Tensor


def dynamic_prior(mean: Tensor, scale: Tensor, members: Tensor | None = None) -> tuple[Tensor, Tensor]:
    r"""The geometric mean of D Gaussians and the prior, :math:`f \propto p^{\pi} \prod_d q_d^{\pi}`, ``[B, L]`` each.

    Args:
        mean: ``[D, B, L]``.
        scale: ``[D, B, L]``.
        members: Which Gaussians a row has, ``[D, B]``; None for all. The weights pi are even.
    """
    precision = scale.square().reciprocal()
    if members is not None:
        precision = precision * members.unsqueeze(-1)
    number = 1 + (len(mean) if members is None else members.sum(0).unsqueeze(-1))
    total = (1 + precision.sum(0)) / number
    return (precision * mean).sum(0) / number / total, total.rsqrt()


def gaussian_kl(mean: Tensor, scale: Tensor, other_mean: Tensor, other_scale: Tensor) -> Tensor:
    """KL(N(mean, scale) || N(other_mean, other_scale)) summed over the last axis."""
    ratio = (scale / other_scale).square()
    distance = ((mean - other_mean) / other_scale).square()
    return 0.5 * (ratio + distance - 1 - ratio.log()).sum(-1)


def mmjsd(
    log_likelihood: Tensor, divergences: Tensor, present: Tensor | None = None, kl_weight: float | Tensor = 1.0
) -> Tensor:
    r"""The ELBO with a Jensen-Shannon divergence in place of the rate, for every row ``[B]``.

    .. math:: \frac1{D K} \sum_{d,k} \log p(x|z_k^d) - \beta\, \frac{1}{D+1} \Bigl( \sum_d \mathrm{KL}(q_d \| f) +
              \mathrm{KL}(p \| f) \Bigr)

    f is the `dynamic_prior`. It is nearer to the experts than the prior is, so this may lie above log p(x).

    Sutter, Daunhawer and Vogt, "Multimodal Generative Learning Utilizing Jensen-Shannon-Divergence", NeurIPS 2020.

    Args:
        log_likelihood: log p(x_e | z_d), ``[D, K, B, E]``.
        divergences: KL(q_d || f) for every expert and, last, KL(p || f), ``[D + 1, B]``.
        present: Which experts a row has, ``[D, B]``; None for all.
        kl_weight: beta.
    """
    per_expert = log_likelihood.sum(-1).mean(1)
    if present is None:
        return per_expert.mean(0) - kl_weight * divergences.mean(0)
    number = present.sum(0)
    there = torch.where(present, per_expert, 0.0).sum(0) / number
    own = torch.where(present, divergences[:-1], 0.0).sum(0)
    return there - kl_weight * (own + divergences[-1]) / (number + 1)
