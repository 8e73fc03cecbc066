"""What travels from here on: values and which of them are observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of a table, ready for a model.

    Attributes:
        values: The encoded cells, ``[N, D]`` in single precision; 0 where a cell is missing.
        mask: Which cells are observed, ``[N, D]``.
    """

    values: Tensor
    mask: Tensor

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or not self.values.is_floating_point():
            raise ValueError(f"values should be numbers with two axes. Found {_describe(self.values)}.")
        if self.mask.shape != self.values.shape or self.mask.dtype != torch.bool:
            raise ValueError(
                f"mask should be boolean with the shape {list(self.values.shape)} of values. "
                f"Found {_describe(self.mask)}."
            )

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, index: Any) -> Batch:
        """Some of the rows: a slice, indices or a boolean mask."""
        return Batch(self.values[index], self.mask[index])

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device."""
        return Batch(self.values.to(device), self.mask.to(device))


def _describe(tensor: Tensor) -> str:
    return f"{tensor.dtype} of shape {list(tensor.shape)}"
