"""What processes that train one model together must agree on inside a backward pass."""

from __future__ import annotations

from torch import Tensor
from torch import distributed as dist


def processes() -> int:
    """How many processes train together."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_world_size()
    return 1


def sum_over_ranks(tensor: Tensor) -> Tensor:
    """The sum of a tensor over all processes."""
    if processes() > 1:
        tensor = tensor.contiguous()
        dist.all_reduce(tensor)
    return tensor


def same_on_all_ranks(tensor: Tensor) -> Tensor:
    """The tensor of the first process, for random numbers that all must share."""
    if processes() > 1:
        tensor = tensor.contiguous()
        dist.broadcast(tensor, src=0)
    return tensor
