"""The IDX format of MNIST: a few numbers of four bytes, then one byte for every pixel or label."""

from __future__ import annotations

import torch
from torch import Tensor


def idx_images(content: bytes, side: int = 28) -> Tensor:
    """Square grey images, bytes ``[N, 1, side, side]``."""
    pixels = torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=16)  # after kind and three sizes
    return pixels.reshape(-1, 1, side, side)


def idx_labels(content: bytes) -> Tensor:
    """Labels, ``[N]``."""
    return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=8).long()  # after kind and size
