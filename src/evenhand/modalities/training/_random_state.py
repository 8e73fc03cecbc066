"""The states of torch's own random generators, of all processes, as a checkpoint keeps them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...common import seeded

if TYPE_CHECKING:
    from lightning_fabric import Fabric


APART = 1 << 50  # the seeds of processes, which have other rows


def own_random_numbers(fabric: Fabric, seed: int) -> AbstractContextManager[None]:
    """Within it torch's own generators, which dropout draws from, begin with a seed of this process."""
    return seeded((seed + fabric.global_rank * APART) % 2**63, fabric.device)


def random_states(fabric: Fabric) -> list[Tensor]:
    """Those of the CPU and of the GPU; the latter are empty where there is none. All processes must call it."""
    device = fabric.device
    own = torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.empty(0)
    states: Any = [fabric.all_gather(state.to(device)) for state in (torch.get_rng_state(), own)]
    return [state.cpu() for state in states]


def restore_random_states(fabric: Fabric, states: list[Tensor]) -> None:
    """Set those of this process."""
    # copies: torch crashes when it is given a state in the middle of another tensor
    own, gpu = [part.reshape(fabric.world_size, -1)[fabric.global_rank].byte().clone() for part in states]
    torch.set_rng_state(own)
    if fabric.device.type == "cuda" and gpu.numel():
        torch.cuda.set_rng_state(gpu, fabric.device)
