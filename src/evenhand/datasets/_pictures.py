"""Reads files of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ._fetch import need


def read_pictures(paths: Sequence[Path], side: int, *, resize: bool = False) -> Tensor:
    """Pictures in colour, bytes ``[N, 3, side, side]``.

    Args:
        paths: Their files.
        side: In pixels.
        resize: Whether pictures of another size are made that large; otherwise they are refused.
    """
    pictures = np.empty((len(paths), 3, side, side), np.uint8)
    for picture, path in zip(pictures, paths, strict=True):
        picture[:] = _read(path, side, resize).transpose(2, 0, 1)
    return torch.from_numpy(pictures)


def _read(path: Path, side: int, resize: bool) -> np.ndarray:
    """One picture, bytes ``[side, side, 3]``."""
    pillow = need("PIL.Image")
    try:
        with pillow.open(path) as file:
            picture = file.convert("RGB")
    except OSError as error:  # whatever Pillow cannot read
        raise ValueError(f"{path} is damaged ({error}); unpack the data set again.") from error
    if picture.size != (side, side) and not resize:
        raise ValueError(f"{path} should have {side} x {side} pixels. Found {' x '.join(map(str, picture.size))}.")
    return np.asarray(picture.resize((side, side), pillow.Resampling.BILINEAR) if resize else picture)
