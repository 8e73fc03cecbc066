"""Random numbers of torch's own, from a seed and for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Within it torch's own generators, which initial weights and dropout draw from, begin with a seed.

    Afterwards those of the CPU, and of the device if it is a GPU, are as they were: they are the caller's.
    """
    with torch.random.fork_rng(devices=[device] if device is not None and device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
