"""The contrastive objective: related rows should be more probable together than unrelated ones."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def contrastive(related: Tensor, unrelated: Tensor, weight: float = 2.0, comparable: Tensor | None = None) -> Tensor:
    r"""What to maximise for every row, ``[B]``.

    .. math:: \gamma \log p(x) - \frac1D \sum_d \log \frac{1}{N + 1} \Bigl( p(x) + \sum_j p(x_{\setminus d}, x_d^j)
              \Bigr)

    where :math:`x_d^j` is the modality of another row. With :math:`\gamma > 1` the evidence itself is raised too.

    Shi et al., "Relating by Contrasting: A Data-efficient Framework for Multimodal DGMs", ICLR 2021.

    Args:
        related: A bound of log p(x), ``[B]``.
        unrelated: Bounds of rows with modality d taken from another row, ``[D, N, B]``.
        weight: gamma.
        comparable: Which of the unrelated count, ``[D, N, B]``: where modalities are missing, the evidence of more of
            them says nothing about that of fewer. None for all.
    """
    everything = torch.cat([related.expand(len(unrelated), 1, -1), unrelated], 1)
    if comparable is None:
        against = everything.logsumexp(1) - math.log(everything.shape[1])
        return weight * related - against.mean(0)
    counted = torch.cat([comparable.new_ones(len(unrelated), 1, related.shape[-1]), comparable], 1)
    against = torch.where(counted, everything, -torch.inf).logsumexp(1) - counted.sum(1).log()
    return weight * related - against.mean(0)
