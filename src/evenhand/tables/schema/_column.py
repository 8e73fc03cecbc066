"""One column of a schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ...common import ArgumentError
from ._kinds import Kind

Category = str | int | float | bool
IGNORE, BY_HAND = "ignore", "Ignored by hand."  # an override that leaves the column out, and the reason
CHANGEABLE = ("kind", "categories", "zero_offset", "unit", "reason")


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, and what belongs to the kind.

    Args:
        name: The name in the frame.
        kind: The kind, or its name.
        categories: All categories in the order of their codes, for binary, categorical and ordinal columns.
        zero_offset: For positive columns that hold zeros. A number: smaller values are raised to it, and what
            comes back as at most that number is a zero again. ``"published"``: the rule of the paper's published
            code, random offsets near zero. None: zeros are refused.
        unit: ``"days"`` if the frame has dates (days since 1970-01-01) or durations.
        reason: Why the column has this kind, in a sentence. Two columns that differ in it are equal.

    Example:
        >>> Column("region", "categorical", ("north", "south", "west")).size
        3
    """

    name: str
    kind: Kind
    categories: tuple[Category, ...] = ()
    zero_offset: float | Literal["published"] | None = None
    unit: Literal["", "days"] = ""
    reason: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ValueError(f"name should be a string. Found {self.name!r}.")
        object.__setattr__(self, "kind", Kind(self.kind))
        object.__setattr__(self, "categories", tuple(_plain(c, self.name) for c in self.categories))
        _check_categories(self)
        _check_zero_offset(self)
        if self.unit not in ("", "days") or (self.unit and self.kind.nominal):
            raise ValueError(
                f"unit of column {self.name!r} should be '' or, for numbers, 'days'. "
                f"Found {self.unit!r} for a column of kind {self.kind}."
            )

    @property
    def size(self) -> int:
        """The number of categories; 1 for numbers."""
        return len(self.categories) or 1

    @property
    def lowest(self) -> float:
        """The smallest number that it can hold."""
        if not self.kind.above_zero:
            return -math.inf
        return math.nextafter(0.0, 1.0) if self.zero_offset is None else 0.0


def changed(column: Column, change: Kind | str | Column | Mapping[str, Any]) -> Column:
    """The column after a change, as far as this is possible without seeing the data."""
    if isinstance(change, Column):
        if change.name != column.name:
            raise ValueError(f"the change of {column.name!r} should bear its name. Found {change.name!r}.")
        return change
    fields = as_fields(column.name, change)
    kind = Kind(fields.get("kind", column.kind))
    fields.setdefault("reason", f"Set to {kind} by hand.")
    if kind.numeric and column.kind.nominal:
        text = [c for c in column.categories if isinstance(c, str)]
        if text:
            raise ValueError(f"column {column.name!r} cannot be {kind}: it holds text such as {text[0]!r}.")
        fields.setdefault("categories", ())
    if kind.nominal and column.kind.numeric and "categories" not in fields:
        advice = f'Give {{"kind": "{kind}", "categories": (...)}}, or infer the schema with overrides.'
        raise ArgumentError(f"column {column.name!r}", f"have categories to become {kind}", "none", advice)
    if not kind.above_zero:
        fields.setdefault("zero_offset", None)
    if kind.nominal:
        fields.setdefault("unit", "")
    return replace(column, **fields)


def as_fields(name: str, change: Kind | str | Mapping[str, Any]) -> dict[str, Any]:
    """A change as fields of a column."""
    if isinstance(change, str):
        return {"kind": Kind(change)}
    if not isinstance(change, Mapping):
        raise ValueError(
            f"the change of {name!r} should be a kind, a Column or a dictionary. Found {type(change).__name__}."
        )
    unknown = [key for key in change if key not in CHANGEABLE]
    if unknown:
        raise ValueError(
            f"the change of {name!r} should have the keys {', '.join(CHANGEABLE)}. Found {unknown[0]!r}."
        )
    return dict(change)


def _plain(category: Any, name: str) -> Category:
    """A category as an ordinary Python value, so that it can be stored and compared."""
    value = category.item() if isinstance(category, np.generic) else category
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(
            f"categories of column {name!r} should be text, numbers or booleans. "
            f"Found {value!r} ({type(value).__name__}); convert the column to text first."
        )
    return str(value) if isinstance(value, str) else value


def _check_categories(column: Column) -> None:
    n, where = len(column.categories), f"categories of column {column.name!r}"
    if column.kind.numeric and n:
        raise ValueError(f"{where} should be empty, because its kind is {column.kind}. Found {n}.")
    if column.kind.n_categories not in (None, n):
        wanted = {2: "two"}.get(column.kind.n_categories or 0, column.kind.n_categories)
        raise ValueError(f"{where} should be {wanted}, because its kind is {column.kind}. Found {n}.")
    if column.kind.nominal and n < 2:
        raise ValueError(f"{where} should be at least two, because its kind is {column.kind}. Found {n}.")
    if len(set(column.categories)) < n:
        twice = next(c for i, c in enumerate(column.categories) if c in column.categories[:i])
        raise ValueError(f"{where} should be distinct. Found {twice!r} twice.")


def _check_zero_offset(column: Column) -> None:
    offset, where = column.zero_offset, f"zero_offset of column {column.name!r}"
    if offset is None:
        return
    if not column.kind.above_zero:
        raise ValueError(f"{where} should be None, because its kind is {column.kind}. Found {offset!r}.")
    number = isinstance(offset, int | float) and not isinstance(offset, bool)
    if offset != "published" and not (number and 0 < float(offset) < math.inf):
        raise ValueError(f"{where} should be a number above 0, 'published' or None. Found {offset!r}.")
