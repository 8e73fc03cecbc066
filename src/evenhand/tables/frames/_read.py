"""From frames to arrays."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..cells import Cells, cells, columns_of, n_rows
from ..schema import Column, Schema, check_whole
from ._raw import RawTable


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


def checked_columns(frame: Any, schema: Schema) -> dict[str, Any]:
    """The columns of the frame by name, all that the schema names and none that it does not know."""
    columns = columns_of(frame)
    absent = [name for name in schema.names if name not in columns]
    if absent:
        raise ValueError(f"frame should have the columns of the schema. Found none called {_list(absent)}.")
    extra = [name for name in columns if name not in schema and name not in schema.ignored]
    if extra:
        raise ValueError(
            f"frame should have no columns that the schema does not know. Found {_list(extra)}; drop them or list "
            "them in schema.ignored."
        )
    return columns


def _read_column(data: Cells, column: Column, unseen: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    if not data.observed.any():
        return np.zeros(len(data.observed)), data.observed
    if column.kind.nominal:
        return _codes(data, column, unseen)
    if data.sort in ("text", "category"):
        raise ValueError(f"should hold numbers, because its kind is {column.kind}. Found {data.seen[0]!r}")
    if (data.sort == "time") != (column.unit == "days"):
        expected = "dates or durations" if column.unit == "days" else "numbers"
        raise ValueError(f"should hold {expected}, as its unit in the schema says. Found a {data.sort}")
    if column.kind.whole:
        check_whole(data.seen)
    return data.values, data.observed


def _codes(data: Cells, column: Column, unseen: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The position of every cell among the categories."""
    if data.sort == "time":
        raise ValueError(f"should hold categories, because its kind is {column.kind}. Found dates or durations")
    codes = {category: float(code) for code, category in enumerate(column.categories)}
    values, positions = np.unique(data.seen.astype(object), return_inverse=True)
    unknown = [value for value in values if value not in codes]
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
    found = np.array([codes.get(value, -1.0) for value in values])[positions]
    result, observed = np.zeros(len(data.observed)), data.observed.copy()
    result[data.observed] = np.maximum(found, 0.0)
    observed[data.observed] = found >= 0
    return result, observed


def _list(items: list[Any]) -> str:
    """The first few, since a frame may have thousands."""
    shown = ", ".join(repr(item) for item in items[:5])
    return f"{shown} and {len(items) - 5} more" if len(items) > 5 else shown
