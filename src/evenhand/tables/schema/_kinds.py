"""The closed list of kinds that a column can have."""

from __future__ import annotations

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
        return self in (Kind.REAL, Kind.POSITIVE, Kind.COUNT)

    @property
    def nominal(self) -> bool:
        """Whether the column holds categories."""
        return not self.numeric

    @classmethod
    def _missing_(cls, value: object) -> Kind:
        raise ValueError(f"kind should be one of {', '.join(cls)}. Found {value!r}.")
