"""Random numbers of methods, from the seed of a training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

APART = 1 << 40  # far from the seed of the noise


def luck_of(seed: int, device: torch.device) -> torch.Generator:
    """Where methods draw from."""
    return torch.Generator(device).manual_seed((seed + APART) % 2**63)


@contextmanager
def drawing_from(generator: torch.Generator, model: nn.Module) -> Iterator[None]:
    """Within it, random methods that have no generator of their own draw from this one."""
    methods: list[Any] = [
        part
        for part in model.modules()
        if getattr(part, "is_random", False) and getattr(part, "generator", part) is None
    ]
    try:
        for method in methods:
            method.generator = generator
        yield
    finally:
        for method in methods:
            method.generator = None  # copies and files know nothing of generators
