"""Random numbers that are the same in all processes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ._distributed import same_on_all_ranks


def uniform(
    shape: Sequence[int], like: Tensor, generator: torch.Generator | None, *, together: bool = False
) -> Tensor:
    """Uniform numbers in [0, 1) on the device of a tensor, the same ones for every type of it.

    Processes that settle one problem together all get those of the first.
    """
    device = like.device if generator is None else generator.device
    numbers = torch.rand(tuple(shape), generator=generator, device=device, dtype=torch.float32)
    numbers = numbers.to(like.device)
    return (same_on_all_ranks(numbers) if together else numbers).to(like.dtype)
