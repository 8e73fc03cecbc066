"""Rows of several modalities: images, text, labels and tables that belong together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

FINGERS = 64  # rows that a fingerprint looks at


@dataclass(frozen=True, eq=False)
class Modalities:
    """N rows, each of them one thing seen in several modalities.

    A modality may keep fewer (or more) items than there are rows: `index` says which item belongs to a row, so
    that a million pairs of a few thousand images cost a few thousand images.

    Attributes:
        values: For every modality its items, ``[M, *shape]``.
        index: For a modality, the item of every row, ``[N]``; without it, row i has item i.
        observed: For a modality, whether a row has it, ``[N]``; without it, all rows do.
    """

    values: Mapping[str, Tensor]
    index: Mapping[str, Tensor] = field(default_factory=dict)
    observed: Mapping[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("values should hold at least one modality. Found none.")
        for name, items in self.values.items():
            if not isinstance(items, Tensor):
                raise ValueError(f"values[{name!r}] should be a tensor. Found {type(items).__name__}.")
        for what, parts in (("index", self.index), ("observed", self.observed)):
            unknown = [name for name in parts if name not in self.values]
            if unknown:
                names = ", ".join(map(repr, self.values))
                raise ValueError(f"{what} should be about the modalities {names}. Found {unknown[0]!r}.")
        for name, index in self.index.items():
            self._check_index(name, index)
        lengths = {name: self._length(name) for name in self.values}
        if len(set(lengths.values())) > 1:
            counted = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
            raise ValueError(f"All modalities should have the same number of rows. Found: {counted}.")
        for name, mask in self.observed.items():
            if mask.dtype != torch.bool or mask.shape != (len(self),):
                raise ValueError(
                    f"observed[{name!r}] should be boolean with one answer for each of {len(self)} rows. "
                    f"Found {mask.dtype} of shape {list(mask.shape)}."
                )

    def _check_index(self, name: str, index: Tensor) -> None:
        n = len(self.values[name])
        if index.ndim != 1 or index.is_floating_point() or index.dtype == torch.bool:
            found = f"{index.dtype} of shape {list(index.shape)}"
            raise ValueError(f"index[{name!r}] should hold one whole number for every row. Found {found}.")
        on_the_way = index.device.type != "cpu"  # looking would mean to wait for it
        if not on_the_way and len(index) and not 0 <= int(index.min()) <= int(index.max()) < n:
            found = f"{int(index.min())} to {int(index.max())}"
            raise ValueError(f"index[{name!r}] should be between 0 and {n - 1}, for {n} items. Found {found}.")

    def __len__(self) -> int:
        return self._length(next(iter(self.values)))

    @property
    def names(self) -> list[str]:
        """The modalities, in order."""
        return list(self.values)

    def rows(self, index: Tensor) -> Modalities:
        """A batch: the items of some rows, gathered."""
        values = {name: x[self._items(name, index)] for name, x in self.values.items()}
        return Modalities(values, observed={name: mask[index] for name, mask in self.observed.items()})

    def subset(self, index: Tensor) -> Modalities:
        """Some of the rows; the items stay where they are."""
        items = {name: self._items(name, index) for name in self.values}
        return Modalities(self.values, items, {name: mask[index] for name, mask in self.observed.items()})

    def complete(self) -> Modalities:
        """The rows that have all modalities."""
        mask = self.mask()
        return self if mask is None else self.subset(mask.all(1).nonzero()[:, 0])

    def only(self, names: list[str]) -> Modalities:
        """Some of the modalities."""
        parts = (self.values, self.index, self.observed)
        return Modalities(*[{name: part[name] for name in names if name in part} for part in parts])

    def mask(self) -> Tensor | None:
        """Which modalities the rows have, ``[N, D]``; None if all have all."""
        if not self.observed:
            return None
        device = next(iter(self.observed.values())).device
        whole = torch.ones(len(self), dtype=torch.bool, device=device)
        return torch.stack([self.observed.get(name, whole) for name in self.values], -1)

    def to(self, device: torch.device | str) -> Modalities:
        """All of it on another device."""
        parts = (self.values, self.index, self.observed)
        return Modalities(*[{name: x.to(device) for name, x in part.items()} for part in parts])

    def fingerprint(self) -> str:
        """Of how many rows there are, and of what some of them hold."""
        some = self.rows(torch.linspace(0, max(0, len(self) - 1), min(len(self), FINGERS)).long().to(self.device))
        digest = hashlib.sha256(str(len(self)).encode())
        for part in (some.values, some.observed):
            for name, x in part.items():
                digest.update(f"{name} {x.dtype} {list(x.shape)}".encode())
                digest.update(x.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()[:16]

    @property
    def device(self) -> torch.device:
        """Where the items are."""
        return next(iter(self.values.values())).device

    @property
    def n_bytes(self) -> int:
        """How much memory the items and their index take."""
        return sum(x.numel() * x.element_size() for part in (self.values, self.index) for x in part.values())

    def _items(self, name: str, index: Tensor) -> Tensor:
        return self.index[name][index] if name in self.index else index

    def _length(self, name: str) -> int:
        return len(self.index[name] if name in self.index else self.values[name])
