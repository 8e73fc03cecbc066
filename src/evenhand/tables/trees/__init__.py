"""Boosted trees beside a network: models of every column, grown by scikit-learn and kept as arrays."""

from ._boosted import Boosted
from ._forest import Forest
from ._grow import MOST_COLUMNS, grow

__all__ = [
    "MOST_COLUMNS",
    "Boosted",
    "Forest",
    "grow",
]
