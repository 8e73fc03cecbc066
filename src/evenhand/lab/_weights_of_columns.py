"""Weights of columns for plain training: weighted sums are the simplest rival of every f."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor

from ..tables.families import Family
from ..tables.inference import head_gradients
from ..tables.stack import Rows
from ._config import GRADIENT, weights_by_kind
from ._splits import Splits

BATCHES, ROWS = 32, 128  # that are looked at before training
LARGEST = 1e3  # ratio of a weight to the mean one


def weights_of_columns(word: str, splits: Splits) -> dict[int, tuple[float, ...]]:
    """The weight of every column in the schema's order, for every seed."""
    if not word:
        return dict.fromkeys(splits.seeds, ())
    if word != GRADIENT:
        return dict.fromkeys(splits.seeds, weights_by_kind(word, splits.schema))
    network, train = splits.network(splits.seeds), splits.index(0, splits.seeds)
    weights = by_gradient(network, splits.rows, train)
    return {seed: tuple(row) for seed, row in zip(splits.seeds, weights.tolist(), strict=True)}


def by_gradient(network: Family, rows: Rows, train: Tensor) -> Tensor:
    """The mean length of the columns' gradients over that of each, ``[R, D]``, before training.

    Gradients are those at the shared features on the first rows; running averages of the network have seen these
    rows before, as in training. The network stays as it is.

    Args:
        network: Untrained replicas.
        rows: The table.
        train: Training rows of every replica, ``[R, n]``.
    """
    looked_at = copy.deepcopy(network).train()
    batches: Sequence[Tensor] = train.split(min(ROWS, train.shape[1]), 1)[:BATCHES]
    with torch.no_grad():
        for index in batches:
            inputs, _, mask = rows.split(rows.record[index])
            looked_at.most_probable(looked_at.look(rows.seen(inputs, mask)))
    squares = [head_gradients(looked_at, rows, index).gram.diagonal(dim1=-2, dim2=-1) for index in batches]
    lengths = torch.stack([*squares]).mean(0).sqrt()
    ratio = lengths.mean(-1, keepdim=True) / lengths.clamp(min=1e-30)
    return ratio.clamp(max=LARGEST)
