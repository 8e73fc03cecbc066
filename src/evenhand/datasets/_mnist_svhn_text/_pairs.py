"""MNIST-SVHN-Text: a handwritten digit, a house number's digit and the word for it.

Sources: those of `mnist` and `svhn`; the text is made from the labels. Licence: non-commercial use only (SVHN).
Built as in the code of the paper, after Shi et al. (2019, MMVAE) and Sutter et al. (2021, MoPoE).
"""

from __future__ import annotations

import string
from collections.abc import Sequence

import torch
from torch import Tensor

from ...common import check_integer
from ...modalities.rows import Modalities
from .. import _mnist, _svhn
from .._catalogue import CATALOGUE
from .._labelled import LabelledModalities, Split, check_split

# 71 symbols, of which "-" occurs twice, as published; the second one is never written.
ALPHABET = string.ascii_lowercase + string.digits + "-,;.!?:'\"/\\|_@#$%^&*~`+-=<>()[]{} \n"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LENGTH = 8


def mnist_svhn_text(
    split: Split = "train", *, seed: int = 0, repeats: int = 20, max_per_digit: int = 10_000
) -> LabelledModalities:
    """MNIST-SVHN-Text: 1121360 rows for training, 200000 for tests. For non-commercial use only.

    The modalities are ``"mnist"`` and ``"svhn"``, bytes ``[60000, 1, 28, 28]`` and ``[73257, 3, 32, 32]``, and
    ``"text"``, a code from `ALPHABET` for each of 8 characters, ``[60000, 8]``. A row pairs two images of the same
    digit; its text is that of the MNIST image. The rows are ordered by digit.

    Args:
        split: Which images.
        seed: Of the pairing, and of where the words stand.
        repeats: In how many pairs every image is.
        max_per_digit: How many images of a digit are used at most.
    """
    check_split(split)
    check_integer("repeats", repeats)
    check_integer("max_per_digit", max_per_digit)
    generator = torch.Generator().manual_seed(seed)
    images, labels = _mnist.mnist(split)
    numbers, number_labels = _svhn.svhn(split)
    text = text_codes(labels, generator)
    first, second = pair(labels, number_labels, repeats=repeats, limit=max_per_digit, generator=generator)
    return LabelledModalities(
        Modalities({"mnist": images, "svhn": numbers, "text": text}, {"mnist": first, "svhn": second, "text": first}),
        labels[first],
        name="mnist_svhn_text",
        source=", ".join(CATALOGUE[part].source for part in ("mnist", "svhn")),
        licence="; ".join(f"{part.upper()}: {CATALOGUE[part].licence}" for part in ("mnist", "svhn")),
        note=_svhn.NOTE if _svhn.is_rebuilt(split) else "",
    )


def pair(
    first: Tensor, second: Tensor, *, repeats: int, limit: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Random pairs of items with equal labels.

    Of every label, the first n items of both are used, n being the smaller count or the limit, and put into random
    order `repeats` times.

    Args:
        first: The labels of one kind of items.
        second: The labels of the other kind.
        repeats: In how many pairs every item is.
        limit: How many items of a label are used at most.
        generator: Draws the orders.

    Returns:
        The items of every pair, one index for each kind.
    """
    pairs = []
    for label in first.unique():
        one, other = (labels.eq(label).nonzero()[:limit, 0] for labels in (first, second))
        n = min(len(one), len(other))
        for _ in range(repeats):
            orders = [torch.randperm(n, generator=generator) for _ in range(2)]
            pairs.append(torch.stack([one[orders[0]], other[orders[1]]]))
    left, right = torch.cat(pairs, 1)
    return left, right


def text_codes(
    labels: Tensor, generator: torch.Generator, words: Sequence[str] = WORDS, length: int = LENGTH
) -> Tensor:
    """Words for labels, each at a random place among spaces, as codes ``[N, length]``.

    A word of k letters starts at the integer part of u (length - 1 - k), with u uniform in [0, 1): the last
    character is always a space.

    Args:
        labels: What to write, ``[N]``.
        generator: Draws the places.
        words: What is written for every label; by default the names of digits.
        length: How many characters a text has.
    """
    u = torch.rand(len(labels), generator=generator, dtype=torch.float64)
    lengths = torch.tensor([len(word) for word in words])[labels]
    starts = (u * (length - 1 - lengths)).long()
    places = torch.arange(length) - starts[:, None]  # of every character in the word
    letters = torch.tensor([[ALPHABET.index(c) for c in word.ljust(length)] for word in words])
    written = letters[labels].gather(1, places.clamp(min=0))
    return torch.where(places >= 0, written, ALPHABET.index(" "))


def read_text(codes: Tensor) -> list[str]:
    """The characters of codes, ``[N, length]``, as a string for every row."""
    return ["".join(ALPHABET[code] for code in row) for row in codes.tolist()]
