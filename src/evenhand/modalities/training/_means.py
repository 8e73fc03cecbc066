"""Means over steps that are kept on the device, so that no step waits for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Means:
    """Sums of what n steps report, kept on the device, and since when one of them is not finite.

    Args:
        device: Where the numbers are.
        size: How many there are.
    """

    def __init__(self, device: torch.device, size: int) -> None:
        self.n = 0
        self._sums = torch.zeros(2, size, device=device, dtype=torch.float64)  # and how many things are in them
        self._bad = torch.zeros(size, device=device, dtype=torch.int64)  # steps since the first that was not finite

    def add(self, means: Tensor, counts: Tensor) -> None:
        """The numbers of one step, and how many things are in each of these means."""
        self._sums += torch.stack([means * counts, counts])
        self._bad += (self._bad > 0) | ~means.isfinite()

    def broken(self) -> tuple[int, list[int]] | None:
        """How many steps ago numbers were first not finite, and which; None if all are."""
        bad = self._bad.tolist()
        first = max(bad)
        return (first - 1, [i for i, count in enumerate(bad) if count == first]) if first else None

    def take(self) -> Tensor:
        """Sums and counts ``[2, size]`` since the last call."""
        taken = self._sums.clone()
        self._sums.zero_()
        self.n = 0
        return taken

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"n": self.n, "sums": self._sums.clone()}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        self.n = state["n"]
        self._sums.copy_(state["sums"])
