"""Digits in three modalities, small enough for any machine: a stand-in for MNIST-SVHN-Text.

Source: https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits, the 1797 images that
scikit-learn brings along; nothing is fetched. Licence: CC BY 4.0.
"""

from __future__ import annotations

import numpy as np
import torch

from ...common import check_integer
from ...modalities.rows import Modalities
from .._catalogue import CATALOGUE
from .._fetch import need
from .._labelled import LabelledModalities, Split, check_split, pair_with_others
from .._mnist_svhn_text import text_codes
from .._small_digits import small_digits

SIDE = 16  # of a coloured view, in pixels
MOVE = 0.75  # at most, in pixels
TURN = np.deg2rad(10)
SHEAR = 0.12
SIZES = (1.5, 1.8)  # pixels of the view for one of the image
GAPS = (6.2, 7.6)  # between the centres of neighbours, in pixels of the image
CONTRAST = 0.4  # at least, between digit and background
NOISE = 0.04
LUMINANCE = np.array([0.299, 0.587, 0.114])


def digits_in_three(split: Split = "train", *, seed: int = 0, repeats: int = 5) -> LabelledModalities:
    """Digits in three modalities: a grey image, a coloured view of another image of the same digit, and the word.

    The modalities are ``"digit"``, bytes ``[M, 1, 8, 8]``, ``"colour"``, bytes ``[M, 3, 16, 16]``, and ``"text"``,
    the codes of `mnist_svhn_text`, ``[M, 8]``. Of the M images, 1442 are for training and 355, every fifth of a
    digit, for tests. A coloured view is turned, sheared, moved, has colours and noise of its own and pieces of
    other digits at its sides, as house numbers do. A row never pairs an image with its own view.

    Args:
        split: Which images.
        seed: Of the views, the pairing, and of where the words stand.
        repeats: In how many rows every image is.
    """
    check_split(split)
    check_integer("repeats", repeats)
    generator = torch.Generator().manual_seed(seed)
    images, labels = small_digits(split)
    rows, others = pair_with_others(labels, repeats, generator)
    values = {
        "digit": torch.from_numpy((images * 255).round().astype(np.uint8))[:, None],
        "colour": torch.from_numpy(coloured(images, np.random.default_rng([seed, split == "test"]))),
        "text": text_codes(labels, generator),
    }
    return LabelledModalities(
        Modalities(values, {"digit": rows, "colour": others, "text": rows}),
        labels[rows],
        name="digits_in_three",
        source=CATALOGUE["digits_in_three"].source,
        licence=CATALOGUE["digits_in_three"].licence,
        note="A small stand-in for MNIST-SVHN-Text.",
    )


def coloured(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A view of every image, [N, 8, 8] with ink from 0 to 1, as bytes [N, 3, 16, 16]."""
    n = len(images)
    down, right, turn, shear = (rng.uniform(-most, most, n) for most in (MOVE, MOVE, TURN, SHEAR))
    size = rng.uniform(*SIZES, n)
    gaps = size * rng.uniform(*GAPS, (2, n))
    neighbours = rng.integers(n, size=(2, n))
    seen = ((np.arange(n), right), (neighbours[0], right - gaps[0]), (neighbours[1], right + gaps[1]))
    views = [_view(images[which], np.stack([down, at]), turn, shear, size) for which, at in seen]
    ink = np.max(views, 0)[:, None]
    back, front = (colour[:, :, None, None] for colour in _colours(n, rng))
    view = back + ink * (front - back) + rng.normal(0, NOISE, (n, 3, SIDE, SIDE))
    return (view * 255).round().clip(0, 255).astype(np.uint8)


def _view(images: np.ndarray, move: np.ndarray, turn: np.ndarray, shear: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The ink of every image seen on a larger canvas, [N, 16, 16]: moved in pixels down and right, then turned."""
    pixels = np.mgrid[:SIDE, :SIDE][:, None] - (SIDE - 1) / 2  # 2, 1, 16, 16, from the centre
    down, right = (pixels - move[:, :, None, None]) / size[:, None, None]
    cos, sin, slant = (x[:, None, None] for x in (np.cos(turn), np.sin(turn), shear))
    y, x = cos * down - sin * right, cos * right + sin * down
    middle = (images.shape[-1] - 1) / 2
    which = np.broadcast_to(np.arange(len(images))[:, None, None], y.shape)
    at = [which, y + middle, x + slant * y + middle]
    return need("scipy.ndimage").map_coordinates(images, at, order=1, mode="grid-constant")  # ink fades at the edge


def _colours(n: int, rng: np.random.Generator) -> np.ndarray:
    """Colours of background and digit, [2, N, 3], either of them the lighter one."""
    colours = rng.random((2, n, 3))
    while (faint := abs((colours[0] - colours[1]) @ LUMINANCE) < CONTRAST).any():
        colours[:, faint] = rng.random((2, faint.sum(), 3))
    return colours
