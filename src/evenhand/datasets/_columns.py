"""Columns as the paper has them, in a word each."""

from __future__ import annotations

from ..tables.schema import Category, Column, Kind

REASON = "As in the paper."


def real(*names: str) -> list[Column]:
    """Real columns."""
    return [Column(name, Kind.REAL, reason=REASON) for name in names]


def positive(*names: str) -> list[Column]:
    """Columns of numbers above zero."""
    return [Column(name, Kind.POSITIVE, reason=REASON) for name in names]


def with_zeros(*names: str) -> list[Column]:
    """Columns that the paper takes for positive though they hold zeros."""
    reason = "As in the paper, which raises zeros to small numbers."
    return [Column(name, Kind.POSITIVE, zero_offset="published", reason=reason) for name in names]


def count(*names: str) -> list[Column]:
    """Columns of counts."""
    return [Column(name, Kind.COUNT, reason=REASON) for name in names]


def nominal(name: str, *categories: Category) -> list[Column]:
    """A column of categories without an order; binary if there are two."""
    kind = Kind.BINARY if len(categories) == 2 else Kind.CATEGORICAL
    return [Column(name, kind, categories, reason=REASON)]


def flags(*names: str) -> list[Column]:
    """Binary columns of zeros and ones."""
    return [column for name in names for column in nominal(name, 0, 1)]


def ordinal(name: str, *categories: Category) -> list[Column]:
    """A column of categories in an order."""
    return [Column(name, Kind.ORDINAL, categories, reason=REASON)]
