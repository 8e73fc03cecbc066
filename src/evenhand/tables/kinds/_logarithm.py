"""The way back from logarithms, for arrays of numpy and of torch."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

T = TypeVar("T", Tensor, NDArray[np.float64])


def from_logarithm(x: T, offset: Any, largest_zero: Any, largest: float) -> T:
    """Numbers whose logarithm, after the offset was added, is x.

    Args:
        x: Logarithms.
        offset: What was added.
        largest_zero: Numbers up to here are zeros.
        largest: Logarithms are cut here, because exp of more is infinite.
    """
    library: Any = torch if isinstance(x, Tensor) else np
    number = library.exp(library.clip(x, None, largest)) - offset
    return library.where(number > largest_zero, number, 0.0)
