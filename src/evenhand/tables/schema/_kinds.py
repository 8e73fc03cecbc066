"""The closed list of kinds that a column can have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a column holds, and with it the likelihood that models it.

    A kind is a string: ``Kind.COUNT == "count"``.

    Example:
        >>> Kind("ordinal").nominal
        True
    """

    REAL = "real"  #: Any number: normal.
    POSITIVE = "positive"  #: Numbers above zero: log-normal.
    COUNT = "count"  #: Whole numbers from zero: Poisson.
    BINARY = "binary"  #: Two categories: Bernoulli.
    CATEGORICAL = "categorical"  #: Categories without an order.
    ORDINAL = "ordinal"  #: Categories in an order.

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers."""
        return FACTS[self].numeric

    @property
    def nominal(self) -> bool:
        """Whether the column holds categories."""
        return not self.numeric

    @property
    def whole(self) -> bool:
        """Whether cells are whole numbers from zero: counts, or codes of categories."""
        return FACTS[self].whole

    @property
    def above_zero(self) -> bool:
        """Whether numbers are above zero, so that zeros need an offset."""
        return FACTS[self].above_zero

    @property
    def n_categories(self) -> int | None:
        """The number of categories that every column of the kind has; None if columns differ."""
        return FACTS[self].n_categories

    @classmethod
    def _missing_(cls, value: object) -> Kind:
        raise ValueError(f"kind should be one of {', '.join(cls)}. Found {value!r}.")


@dataclass(frozen=True)
class Facts:
    """What a schema knows of a kind; how a model sees it is in `evenhand.tables.kinds`."""

    numeric: bool = True
    whole: bool = False
    above_zero: bool = False
    n_categories: int | None = None


FACTS = {
    Kind.REAL: Facts(),
    Kind.POSITIVE: Facts(above_zero=True),
    Kind.COUNT: Facts(whole=True),
    Kind.BINARY: Facts(numeric=False, whole=True, n_categories=2),
    Kind.CATEGORICAL: Facts(numeric=False, whole=True),
    Kind.ORDINAL: Facts(numeric=False, whole=True),
}
