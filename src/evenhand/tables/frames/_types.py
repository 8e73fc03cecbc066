"""Types of columns that can hold what they get."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..schema import Column
from ._form import Form, is_object, is_text

NUMBERS = {"integer", "float"}


def make(values: list[Any], like: Any, *, typed: bool = True) -> Any:
    """A column of the same type as another; or, untyped, of the type that its library finds for the values."""
    if isinstance(like, np.ndarray):
        return _as_array(values, like.dtype if typed else np.dtype(object))
    if nw.dependencies.is_pyarrow_chunked_array(like):
        arrow = nw.dependencies.get_pyarrow()
        dtype = like.type if typed and not arrow.types.is_null(like.type) else None
        return arrow.chunked_array([arrow.array(values, type=dtype)], type=dtype)
    if nw.dependencies.is_polars_series(like):
        return type(like)(like.name, values, dtype=like.dtype if typed and str(like.dtype) != "Null" else None)
    return type(like)(values, dtype=like.dtype if typed else None, name=like.name)


def _as_array(values: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind in "mM":  # through microseconds, which is what Python's own times have
        return np.array(values, dtype=f"{dtype.kind}8[us]").astype(dtype)
    if dtype.kind == "U":  # as long as the longest
        return np.array(values, dtype="U")
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return array


def could_hold(native: Any, here: Form, known: Form) -> bool:
    """Whether a column without any cell has a type for what is learnt of it: one of NaN alone can be anything."""
    alike = here.sort in ("other", known.sort) or {here.sort, known.sort} <= NUMBERS
    return alike or bool(here.like) or is_text(native)


def whole_column(values: list[Any], native: Any, like: Any) -> Any:
    """All cells of a column, of a type that is known or as the library makes it."""
    typed = like is not None and not isinstance(native, np.ndarray)  # columns of an array share a type
    made = make(values, like if typed else native, typed=typed)
    if nw.dependencies.is_pandas_series(native):
        made.index = native.index
    return made


def wide_enough(native: Any, here: Form, column: Column, numbers: NDArray[np.float64], known: Form) -> Any:
    """Booleans as integers, integers as larger ones or floats, where they could not hold what the known form says."""
    if is_object(native) or here.sort not in ("boolean", "integer") or known.sort not in NUMBERS:
        return native
    whole = known.sort == "integer" or known.whole or column.kind.whole or column.kind.nominal
    guesses = np.rint(numbers)
    fits = column.kind.nominal or (here.low <= guesses.min() and guesses.max() <= here.high)
    if here.sort == "integer" and whole and fits:
        return native
    if isinstance(native, np.ndarray):
        return native.astype(np.int64 if whole else np.float64)
    return nw.from_native(native, series_only=True).cast(nw.Int64() if whole else nw.Float64()).to_native()


def with_categories(column: Any, values: list[Any], about: Column) -> Any:
    """The column with the categories that it gets: a frame of few rows may declare fewer than there are."""
    dtype: Any = getattr(column, "dtype", None)
    if nw.dependencies.is_pandas_series(column) and hasattr(dtype, "categories"):
        wanted = _all_categories(list(dtype.categories), values, about)
        return column if len(wanted) == len(dtype.categories) else column.cat.set_categories(wanted)
    if nw.dependencies.is_polars_series(column) and nw.from_native(column, series_only=True).dtype == nw.Enum:
        return column.cast(type(dtype)(_all_categories(dtype.categories.to_list(), values, about)))
    return column


def _all_categories(declared: list[Any], values: list[Any], about: Column) -> list[Any]:
    """Declared categories and those of values; in the order of the schema if that agrees with the declared one."""
    new = [value for value in dict.fromkeys(values) if value not in declared]
    ranks = {category: rank for rank, category in enumerate(about.categories)}
    known = [ranks[category] for category in declared if category in ranks]
    if not new or len(known) < len(declared) or known != sorted(known) or not all(value in ranks for value in new):
        return [*declared, *new]
    return sorted([*declared, *new], key=lambda category: ranks[category])
