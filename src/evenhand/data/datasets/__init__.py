"""The twelve tables of the paper, each with its source, checksum and schema.

A file is taken from the folder ``$EVENHAND_DATA/<name>/`` or fetched from its source into a cache.
"""

from ._adult import adult
from ._bank import bank
from ._credit import credit
from ._dataset import Dataset
from ._diamonds import diamonds
from ._elnino import elnino
from ._hi import hi
from ._imdb import imdb
from ._labour import labour
from ._magic import magic
from ._miniboone import miniboone
from ._rwm5yr import rwm5yr
from ._wine import wine

_LOADERS = (adult, credit, wine, diamonds, bank, imdb, hi, rwm5yr, labour, elnino, magic, miniboone)
NAMES = tuple(loader.__name__ for loader in _LOADERS)

__all__ = [
    "NAMES",
    "Dataset",
    "adult",
    "bank",
    "credit",
    "diamonds",
    "elnino",
    "hi",
    "imdb",
    "labour",
    "load",
    "magic",
    "miniboone",
    "rwm5yr",
    "wine",
]


def load(name: str) -> Dataset:
    """Load a data set by its name, one of `NAMES`."""
    if name not in NAMES:
        raise ValueError(f"name should be one of {', '.join(NAMES)}. Found {name!r}.")
    return _LOADERS[NAMES.index(name)]()
