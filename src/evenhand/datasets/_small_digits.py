"""The 8 x 8 digits that come with scikit-learn, split once for all data sets that are built over them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ._fetch import need
from ._labelled import Split


def small_digits(split: Split) -> tuple[np.ndarray, Tensor]:
    """Images with ink from 0 to 1, ``[N, 8, 8]``, and their digits, ``[N]``: every fifth of a digit is for tests."""
    digits = need("sklearn.datasets").load_digits()
    rank = np.zeros(len(digits.target), int)
    for digit in range(10):
        rank[digits.target == digit] = np.arange((digits.target == digit).sum())
    chosen = (rank % 5 == 4) == (split == "test")
    return digits.images[chosen] / 16, torch.from_numpy(digits.target[chosen].astype(np.int64))
