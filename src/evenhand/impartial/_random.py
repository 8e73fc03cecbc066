"""Random numbers that are the same in all processes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ._distributed import same_on_all_ranks


def uniform(shape: Sequence[int], like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Uniform numbers in [0, 1) on the device of a tensor, the same ones for every type of it."""
    device = like.device if generator is None else generator.device
    numbers = torch.rand(tuple(shape), generator=generator, device=device, dtype=torch.float32)
    return same_on_all_ranks(numbers.to(like.device)).to(like.dtype)
