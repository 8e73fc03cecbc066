"""From frames to arrays."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...common import ArgumentError
from ..cells import Cells, cells, columns_of, n_rows
from ..schema import Category, Column, Schema, check_whole
from ..written import What, parsed, told
from ._raw import RawTable

LARGEST = 1e30  # of numbers: beyond, their squares leave the range of single precision, in which models compute


def read(frame: Any, schema: Schema, *, unseen: Literal["error", "missing"] = "error") -> RawTable:
    """Read a frame as its schema says.

    Args:
        frame: A pandas or polars DataFrame, a pyarrow Table, or a numpy array with two axes. Its columns are found by
            name, in any order; an array's are called x0, x1, and so on.
        schema: The columns. The frame may have others only if the schema ignores them.
        unseen: Whether a category that the schema lacks is an error, or is taken as missing with a warning.
    """
    if unseen not in ("error", "missing"):
        raise ValueError(f"unseen should be 'error' or 'missing'. Found {unseen!r}.")
    columns = checked_columns(frame, schema)
    values, observed = np.zeros((n_rows(frame), len(schema))), np.zeros((n_rows(frame), len(schema)), dtype=bool)
    for d, column in enumerate(schema):
        try:
            values[:, d], observed[:, d] = _read_column(cells(columns[column.name]), column, unseen)
        except ValueError as error:
            raise ValueError(f"column {column.name!r} {error}.") from error
    return RawTable(values, observed)


def check_extremes(table: RawTable, schema: Schema) -> None:
    """Refuse numbers that no model can learn from; the columns that hold them are named."""
    for d, column in enumerate(schema):
        largest = float(np.abs(table.values[:, d]).max(initial=0.0)) if column.kind.numeric else 0.0
        if largest > LARGEST:
            found = f"{largest:g} in column {column.name!r}"
            advice = "Divide the column, make such cells missing, or leave it out with 'ignore'."
            raise ArgumentError("X", f"hold numbers up to {LARGEST:g}", found, advice)


def checked_columns(frame: Any, schema: Schema) -> dict[str, Any]:
    """The columns of the frame by name, all that the schema names and none that it does not know."""
    columns = columns_of(frame)
    absent = [name for name in schema.names if name not in columns]
    extra = [name for name in columns if name not in schema and name not in schema.ignored]
    if absent:
        instead = f", but {_list(extra)}" if extra else ""
        raise ArgumentError("frame", "have the columns of the schema", f"none called {_list(absent)}{instead}")
    if extra:
        raise ArgumentError("frame", "have no columns that the schema does not know", _list(extra), "Drop them.")
    return columns


def _read_column(data: Cells, column: Column, unseen: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    if not data.observed.any():
        return np.zeros(len(data.observed)), data.observed
    if column.kind.nominal:
        return _codes(data, column, unseen)
    if data.sort in ("text", "category", "mixed"):
        data = _parsed(data, column)
    if (data.sort == "time") != (column.unit == "days"):
        expected = "dates or durations" if column.unit == "days" else "numbers"
        raise ValueError(f"should hold {expected}, as its unit in the schema says. Found a {data.sort}")
    if column.kind.whole:
        check_whole(data.seen)
    return data.values, data.observed


def _parsed(data: Cells, column: Column) -> Cells:
    """Numbers or dates that are written as text; words among them are missing, with a warning."""
    what: What = "dates" if column.unit else "numbers"
    found, words = parsed(data, what)
    if not found.observed.any():
        raise ValueError(f"should hold {what}, because its kind is {column.kind}. Found {words[0]!r}")
    if words:
        n, of = int(found.observed.sum()), int(data.observed.sum())
        warnings.warn(f"column {column.name!r}: {told(n, of, what, words)}.", stacklevel=5)
    return found


def _codes(data: Cells, column: Column, unseen: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The position of every cell among the categories."""
    if data.sort == "time":
        raise ValueError(f"should hold categories, because its kind is {column.kind}. Found dates or durations")
    if data.sort == "mixed":
        types = ", ".join(sorted({type(value).__name__ for value in data.seen}))
        raise ValueError(f"mixes values of type {types}; convert it to one type")
    values, positions = np.unique(data.seen.astype(object), return_inverse=True)
    codes = _codes_of(values, column.categories)
    unknown = [value for value, code in zip(values, codes, strict=True) if code < 0]
    if unknown and unseen == "error":
        raise ValueError(
            f"should hold the categories of the schema only. Found {_list(unknown)}; add them to the schema or pass "
            "unseen='missing'"
        )
    if unknown:
        warnings.warn(
            f"column {column.name!r} has categories that the schema lacks, taken as missing: {_list(unknown)}.",
            stacklevel=4,
        )
    found = np.array(codes)[positions]
    result, observed = np.zeros(len(data.observed)), data.observed.copy()
    result[data.observed] = np.maximum(found, 0.0)
    observed[data.observed] = found >= 0
    return result, observed


def _codes_of(values: NDArray[Any], categories: tuple[Category, ...]) -> list[float]:
    """The code of every value, or -1: of the category that is equal, written alike, or, of two, but for capitals."""
    exact = {category: float(code) for code, category in enumerate(categories)}
    alike = {_written(category): code for category, code in exact.items()}
    folded = {text.casefold(): code for text, code in alike.items()} if len(categories) == 2 else {}
    if len(folded) < len(categories):
        folded = {}
    return [
        exact.get(value, alike.get(_written(value), folded.get(_written(value).casefold(), -1.0))) for value in values
    ]


def _written(value: Any) -> str:
    """As text: a file may hold as numbers what was text in another, where there was a word among them."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _list(items: list[Any]) -> str:
    """The first few, since a frame may have thousands."""
    shown = ", ".join(repr(item) for item in items[:5])
    return f"{shown} and {len(items) - 5} more" if len(items) > 5 else shown
