"""The contrastive objective: related rows should be more probable together than unrelated ones."""

from __future__ import annotations

import math
from collections.abc import Mapping

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


def with_unrelated(
    values: Mapping[str, Tensor], observed: Tensor | None, noise: Tensor, n_negatives: int
) -> tuple[dict[str, Tensor], Tensor | None, Tensor]:
    """The batch, and for every modality copies of it with that modality taken from other rows.

    Args:
        values: The D modalities of B rows.
        observed: Which of them a row has, ``[B, D]``; None for all.
        noise: Of the rows, ``[A, K, B, L]``; copies have the same.
        n_negatives: N, how many other rows a row is compared with.

    Returns:
        The same three for B (1 + D N) rows: first the batch itself, then the copies ``[D, N, B]`` in that order.
    """
    n_rows, n_modalities = noise.shape[2], len(values)
    shifts = [1 + j % max(1, n_rows - 1) for j in range(n_negatives)]
    rows = torch.arange(n_rows, device=noise.device)
    more: dict[str, Tensor] = {}
    masks: list[Tensor] = []
    for d, (name, x) in enumerate(values.items()):
        parts = [rows] + [rows.roll(s) if d == e else rows for e in range(n_modalities) for s in shifts]
        index = torch.cat(parts)
        more[name] = x[index]
        if observed is not None:
            masks.append(observed[index, d])
    mask = None if observed is None else torch.stack(masks, -1)
    return more, mask, noise.repeat(1, 1, 1 + n_modalities * n_negatives, 1)


def comparable(observed: Tensor | None, n_rows: int) -> Tensor | None:
    """Which copies that `with_unrelated` made have the modalities of the row itself, ``[D, N, B]``; None for all."""
    if observed is None:
        return None
    changed = observed[n_rows:].unflatten(0, (observed.shape[1], -1, n_rows))
    return (changed == observed[:n_rows]).all(-1)
