"""What a network sees of visits: their own cells, and in every column the nearest cells before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..stack import Rows
from ._histories import Histories

NEVER_ZERO = 1e-6


@dataclass(frozen=True, eq=False)
class Visits:
    """Histories with the cells of their visits.

    Attributes:
        histories: Which rows belong together.
        inputs: What the encoder may see of every visit, ``[N, T, I]``.
        targets: What the heads compare with, ``[N, T, targets]``.
        mask: Which cells are observed, 1 or 0, ``[N, T, D]`` in the inner order of the likelihood.
        owners: The column every input belongs to, ``[I]``.
    """

    histories: Histories
    inputs: Tensor
    targets: Tensor
    mask: Tensor
    owners: Tensor

    @classmethod
    def of(cls, histories: Histories, rows: Rows) -> Visits:
        """Gather the rows of histories; visits that are padding have no observed cell."""
        inputs, targets, mask = rows.split(rows.record[histories.rows])
        return cls(histories, inputs, targets, mask * histories.present.unsqueeze(-1), rows.owners)

    def take(self, index: Any) -> Visits:
        """Some histories, no longer than the longest of them."""
        histories = self.histories.take(index)
        longest = histories.rows.shape[1]
        inputs, targets, mask = (x[index][:, :longest] for x in (self.inputs, self.targets, self.mask))
        return Visits(histories, inputs, targets, mask, self.owners)

    def seen(self, visible: Tensor) -> tuple[Tensor, Tensor]:
        """What the encoder sees if these cells are visible (1 or 0, ``[N, T, D]``).

        Beside its own cells a visit brings, for every column, the last visible cell before it and the next one after
        it, how long ago and how far ahead they are, and the line between them: a value that stays, or changes
        evenly, then needs no memory.

        Returns:
            All inputs, ``[N, T, 4 I + 2 D]``, and the line between cells alone, ``[N, T, I]``.
        """
        when = self.histories.clock[..., :1].expand_as(visible)
        shown = visible[..., self.owners]
        record = torch.cat([self.inputs * shown, when], -1)
        there = torch.cat([shown, visible], -1) > 0
        sides = carried(record, there), carried(record.flip(1), there.flip(1)).flip(1)
        n, width = self.inputs.shape[-1], visible.shape[-1]
        last, following = (side[..., :n] for side in sides)
        gaps = [(when - side[..., n:]).abs() * side[..., n - width : n] for side in sides]
        known = [side[..., n - width : n][..., self.owners] for side in sides]
        line = between(last, following, known, [gap[..., self.owners] for gap in gaps])
        return torch.cat([record[..., :n], last, following, line, *gaps], -1), line

    @property
    def n_inputs(self) -> int:
        """How many inputs `seen` gives a visit."""
        return 4 * self.inputs.shape[-1] + 2 * self.mask.shape[-1]


def between(last: Tensor, following: Tensor, known: Sequence[Tensor], gaps: Sequence[Tensor]) -> Tensor:
    """The line between two values; one of them where the other is not known, 0 where none is.

    Args:
        last: The value before.
        following: The value after.
        known: For each of them, 1 where there is one, else 0.
        gaps: How far away each of them is.

    Example:
        >>> one = torch.ones(1)
        >>> between(2 * one, 5 * one, (one, one), (one, 2 * one)).round(decimals=3).item()
        3.0
        >>> between(0 * one, 5 * one, (0 * one, one), (0 * one, 2 * one)).item()
        5.0
    """
    weights = known[0] * (gaps[1] + NEVER_ZERO), known[1] * (gaps[0] + NEVER_ZERO)
    return (weights[0] * last + weights[1] * following) / (weights[0] + weights[1]).clamp(min=NEVER_ZERO)


def carried(values: Tensor, there: Tensor) -> Tensor:
    """The last value before every step, ``[N, T, n]``; 0 where there was none yet.

    Args:
        values: ``[N, T, n]``.
        there: Where there is a value, ``[N, T, n]``.

    Example:
        >>> values = torch.tensor([[[1.0], [0.0], [3.0], [4.0]]])
        >>> carried(values, values > 0).flatten().tolist()
        [0.0, 1.0, 1.0, 3.0]
    """
    last, found = torch.zeros_like(values[:, 0]), []
    for t in range(values.shape[1]):
        found.append(last)
        last = torch.where(there[:, t], values[:, t], last)
    return torch.stack(found, 1)


def hidden_at_random(mask: Tensor, cells: float, visits: float, generator: torch.Generator) -> Tensor:
    """Observed cells that stay visible, 1 or 0, when some cells and some whole visits are hidden at random.

    Args:
        mask: Which cells are observed, ``[N, T, D]``.
        cells: The share of cells that is hidden.
        visits: The share of visits that is hidden.
        generator: For the draw.
    """
    kept = torch.rand(mask.shape, generator=generator) >= cells
    whole = torch.rand(mask.shape[:2], generator=generator) >= visits
    return mask * kept * whole.unsqueeze(-1)
