"""The batches of an epoch, for one process of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from ..rows import Modalities


class Batch(NamedTuple):
    """Rows of a step.

    Attributes:
        n_rows: How many rows all processes have together.
        values: The modalities of this one's rows.
        observed: Which of them they have, ``[B, D]``; None for all.
    """

    n_rows: int
    values: Mapping[str, Tensor]
    observed: Tensor | None


def number_of_batches(rows: int, size: int, world: int) -> int:
    """Of an epoch. The last one may be smaller, but gives every process a row; a single row joins those before."""
    whole, last = divmod(rows, size)
    return whole if last == 1 and whole else whole + (last >= world)


def _parts(order: Tensor, size: int) -> list[Tensor]:
    parts = list(order.split(size))
    if len(parts) > 1 and len(parts[-1]) == 1:  # batch normalisation cannot learn from one row
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts


def epoch_batches(
    data: Any, size: int, wanted: slice, generator: torch.Generator, device: torch.device, rank: int, world: int
) -> Iterator[Batch]:
    """The batches of an epoch in random order.

    Args:
        data: `Modalities`, or a torch data set whose items are dictionaries of tensors.
        size: Rows of a batch, of all processes together.
        wanted: Which batches; those before have been seen.
        generator: Of the order.
        device: Where batches go.
        rank: Which process this is
        world: of how many.
    """
    order = torch.randperm(len(data), generator=generator)
    if isinstance(data, Modalities):
        for index in _parts(order.to(data.device), size)[wanted]:
            batch = data.rows(index[rank::world]).to(device)
            yield Batch(len(index), batch.values, batch.mask())
        return
    left: Sequence[Tensor] = _parts(order, size)[wanted]
    own = [index[rank::world].tolist() for index in left]
    # a loader draws a number when it starts, also in the middle of an epoch: not from the numbers of the networks
    loader = DataLoader(data, batch_sampler=own, generator=generator)
    for index, items in zip(left, loader, strict=True):
        yield Batch(len(index), {name: x.to(device) for name, x in items.items()}, None)
