"""Which rows belong together, in which order, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Clock:
    """The unit of time that a network sees, measured on training rows.

    Attributes:
        centre: The mean time.
        scale: The deviation of times.
        gap: The usual time between two visits: the median.
    """

    centre: float
    scale: float
    gap: float

    @classmethod
    def fit(cls, times: Array, visits: Sequence[NDArray[np.intp]]) -> Clock:
        """Measure the times of all rows, and the gaps within histories."""
        gaps = np.concatenate([np.diff(times[rows]) for rows in visits])
        return cls(float(times.mean()), float(times.std()) or 1.0, float(np.median(gaps)) if gaps.size else 1.0)


@dataclass(frozen=True, eq=False)
class Histories:
    """N histories of at most T visits, the shorter ones padded at their end.

    Attributes:
        rows: The row of every visit, ``[N, T]``; 0 where there is none.
        present: Where there is a visit, ``[N, T]``.
        clock: What a network sees of time, ``[N, T, 2]``: when it is, and how long the last visit is ago.
    """

    rows: Tensor
    present: Tensor
    clock: Tensor

    @classmethod
    def of(cls, visits: Sequence[NDArray[np.intp]], times: Array, clock: Clock, dtype: torch.dtype) -> Histories:
        """Pad the rows of every history, which stand in the order of time."""
        lengths = [len(rows) for rows in visits]
        padded = np.zeros((len(visits), max(lengths)), dtype=np.int64)
        seen = np.zeros((*padded.shape, 2))
        for i, rows in enumerate(visits):
            padded[i, : len(rows)] = rows
            seen[i, : len(rows), 0] = (times[rows] - clock.centre) / clock.scale
            seen[i, 1 : len(rows), 1] = np.diff(times[rows]) / clock.gap
        present = torch.arange(padded.shape[1]) < torch.tensor(lengths).unsqueeze(1)
        return cls(torch.from_numpy(padded), present, torch.tensor(seen, dtype=dtype))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: Any) -> Histories:
        """Some histories, no longer than the longest of them."""
        present = self.present[index]
        longest = int(present.sum(1).max())
        return Histories(self.rows[index][:, :longest], present[:, :longest], self.clock[index][:, :longest])

    def batches(self, size: int) -> list[Histories]:
        """All histories, in parts."""
        return [self.take(slice(start, start + size)) for start in range(0, len(self), size)]


def visits_of(ids: Sequence[Any], times: Array) -> list[NDArray[np.intp]]:
    """The rows of every id in the order of time; ids in the order in which they appear."""
    places: dict[Any, list[int]] = {}
    for row, name in enumerate(ids):
        places.setdefault(name, []).append(row)
    return [np.array(sorted(rows, key=times.__getitem__), dtype=np.intp) for rows in places.values()]
