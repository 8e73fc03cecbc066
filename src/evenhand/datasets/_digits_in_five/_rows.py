"""Digits in five modalities, small enough for any machine: PolyMNIST's construction over what scikit-learn brings.

Sources: https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits, the 1797 digits of
scikit-learn, and its two photographs, china.jpg (danielbuechele) and flower.jpg (vultilion, both on Flickr); nothing
is fetched. Licences: CC BY 4.0 (digits), CC BY 2.0 (photographs).
"""

from __future__ import annotations

import numpy as np
import torch

from ...common import check_integer
from ...modalities.rows import Modalities
from .._catalogue import CATALOGUE
from .._fetch import need
from .._labelled import LabelledModalities, Split, check_split
from .._small_digits import small_digits

SIDE = 8  # of an image, in pixels
SHAPE = (3, SIDE, SIDE)
INK = 0.5  # from here on a pixel belongs to the digit
REGIONS = {  # of the photographs, each light or dark throughout: rows and columns, of 427 and 640
    "m0": ("china.jpg", slice(0, 160), slice(320, 640)),  # the sky
    "m1": ("china.jpg", slice(180, 300), slice(320, 560)),  # a lake in the haze
    "m2": ("china.jpg", slice(180, 427), slice(80, 240)),  # trees and a temple
    "m3": ("flower.jpg", slice(0, 427), slice(0, 160)),  # leaves
    "m4": ("flower.jpg", slice(120, 300), slice(240, 400)),  # the flower
}
NAMES = tuple(REGIONS)


def digits_in_five(split: Split = "train", *, seed: int = 0, repeats: int = 2) -> LabelledModalities:
    """Digits in five modalities: five images of a digit, each on a piece of another background.

    The modalities are ``"m0"`` to ``"m4"``, bytes ``[N, 3, 8, 8]``. As in PolyMNIST, each has a background of its
    own, of which every image shows a random piece, and the pixels of the digit are those of the background with
    inverted colours. The five images of a row have nothing in common but the digit. Of the 1797 digits, 1442 are for
    training and 355, every fifth of a digit, for tests. Rows are ordered by digit.

    Args:
        split: Which digits.
        seed: Of the pieces, and of which images are in a row.
        repeats: In how many rows every digit is, each time on another piece.

    Example:
        >>> digits = digits_in_five("test", repeats=1)
        >>> {name: tuple(x.shape) for name, x in digits.data.values.items()}["m4"]
        (355, 3, 8, 8)
    """
    check_split(split)
    check_integer("repeats", repeats)
    rng = np.random.default_rng([seed, split == "test"])
    images, labels = small_digits(split)
    strokes, digits = images > INK, labels.numpy()
    values = {}
    for name in NAMES:
        order = _shuffled_within_digits(digits, repeats, rng)
        values[name] = torch.from_numpy(pasted(strokes[order], background(name), rng))
    entry = CATALOGUE["digits_in_five"]
    return LabelledModalities(
        Modalities(values),
        labels.sort(stable=True).values.repeat_interleave(repeats),
        name=entry.name,
        source=entry.source,
        licence=entry.licence,
        note="A small relative of PolyMNIST.",
    )


def background(name: str) -> np.ndarray:
    """The part of a photograph that is behind a modality, bytes ``[H, W, 3]``."""
    need("PIL")  # scikit-learn reads photographs with it
    file, rows, columns = REGIONS[name]
    return need("sklearn.datasets").load_sample_image(file)[rows, columns]


def pasted(strokes: np.ndarray, photograph: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every digit, ``[N, 8, 8]``, on a random piece of a photograph, which it inverts: bytes ``[N, 3, 8, 8]``."""
    pieces = np.lib.stride_tricks.sliding_window_view(photograph, (SIDE, SIDE), axis=(0, 1))  # H', W', 3, 8, 8
    down, right = (rng.integers(n, size=len(strokes)) for n in pieces.shape[:2])
    behind = pieces[down, right]
    return np.where(strokes[:, None], 255 - behind, behind)


def _shuffled_within_digits(digits: np.ndarray, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Every image so many times, ordered by digit and at random within one."""
    order = rng.permutation(np.repeat(np.arange(len(digits)), repeats))
    return order[np.argsort(digits[order], kind="stable")]
