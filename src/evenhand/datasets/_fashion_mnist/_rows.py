"""Fashion-MNIST in three modalities: an article of clothing, another one of its class, and the name of the class.

Source: https://github.com/zalandoresearch/fashion-mnist (Xiao, Rasul and Vollgraf, 2017). Licence: MIT.
Debian's package dataset-fashion-mnist brings the files; where it is installed, nothing is fetched.
sha256 of the decompressed files:
train-images-idx3-ubyte: c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888
train-labels-idx1-ubyte: bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9
t10k-images-idx3-ubyte: 5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b
t10k-labels-idx1-ubyte: 0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34
"""

from __future__ import annotations

import torch

from ...common import check_integer
from ...modalities.rows import Modalities
from .._catalogue import CATALOGUE
from .._fetch import File, read_bytes
from .._idx import idx_images, idx_labels
from .._labelled import LabelledModalities, Split, check_split, pair_with_others
from .._mnist_svhn_text import text_codes

URL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
SYSTEM = "/usr/share/datasets/fashion-mnist"  # of Debian's package
WORDS = (
    *("t-shirt/top", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
LENGTH = 16


def _file(name: str, sha256: str) -> File:
    return File(name, sha256, f"{URL}{name}.gz", system=SYSTEM)


FILES = {
    "train images": _file(
        "train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"
    ),
    "train labels": _file(
        "train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"
    ),
    "test images": _file(
        "t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"
    ),
    "test labels": _file(
        "t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"
    ),
}
ALTERNATIVES = (tuple(FILES.values()),)


def fashion_mnist(split: Split = "train", *, seed: int = 0, repeats: int = 1) -> LabelledModalities:
    """Fashion-MNIST in three modalities: 60000 rows for training, 10000 for tests.

    The modalities are ``"article"`` and ``"other"``, bytes ``[M, 1, 28, 28]``, and ``"text"``, the codes of
    `mnist_svhn_text` for the name of the class among spaces, ``[M, 16]``. A row pairs two different articles of a
    class; its text is that of the first one. The rows are ordered by class.

    Args:
        split: Which images.
        seed: Of the pairing, and of where the words stand.
        repeats: In how many rows every image is the first one.
    """
    check_split(split)
    check_integer("repeats", repeats)
    generator = torch.Generator().manual_seed(seed)
    images = idx_images(read_bytes("fashion_mnist", FILES[f"{split} images"]))
    labels = idx_labels(read_bytes("fashion_mnist", FILES[f"{split} labels"]))
    rows, others = pair_with_others(labels, repeats, generator)
    values = {"article": images, "other": images, "text": text_codes(labels, generator, WORDS, LENGTH)}
    return LabelledModalities(
        Modalities(values, {"article": rows, "other": others, "text": rows}),
        labels[rows],
        name="fashion_mnist",
        source=CATALOGUE["fashion_mnist"].source,
        licence=CATALOGUE["fashion_mnist"].licence,
    )
