"""A few numbers of one problem on the CPU, in Python, which is done with a dozen of them before torch has begun."""

from __future__ import annotations

from array import array

import torch
from torch import Tensor

from ._solvers import host_reads_are_free

FEW = 100
ARRAY_TYPES = {torch.float32: "f", torch.float64: "d"}


def are_few(vector: Tensor) -> bool:
    """Whether a vector ``[..., T]`` is one problem that is sooner solved in Python."""
    return (
        vector.ndim == 1
        and len(vector) <= FEW
        and vector.dtype in ARRAY_TYPES
        and not vector.requires_grad
        and host_reads_are_free(vector)
    )


def as_tensor(numbers: list[float], dtype: torch.dtype) -> Tensor:
    """Numbers as a vector, by way of an array: `torch.tensor` would look at every one of them."""
    if dtype in ARRAY_TYPES:
        return torch.asarray(array(ARRAY_TYPES[dtype], numbers), dtype=dtype)
    return torch.tensor(numbers, dtype=dtype)
