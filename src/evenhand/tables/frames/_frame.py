"""From arrays to frames: holes filled, or new rows, in a frame of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..cells import columns_of, n_rows
from ..schema import Column, Schema
from ._form import Form, as_text, form_of, is_object, is_text, values_for
from ._read import checked_columns
from ._types import could_hold, make, whole_column, wide_enough, with_categories

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def fill(
    frame: Any,
    schema: Schema,
    values: Array,
    missing: Mask,
    forms: Mapping[str, Form] | None = None,
    *,
    rounded: bool = True,
    like: Any = None,
) -> Any:
    """Fill cells of a frame.

    The result is a frame of the same kind with the same columns, types and index. Cells that are not filled are
    untouched. Counts and columns of integers get whole numbers, other numbers as many decimals as those that are
    seen; times are whole days if all that are seen are. Where numbers and dates are written as text, so are these.
    A column whose type cannot hold what it gets has a wider one: integers become larger ones or floats, and a
    column without any cell, whose type is an accident, becomes what it is in the known forms.

    Args:
        frame: What `read` takes.
        schema: Its columns.
        values: Raw values in the order of the schema, ``[N, D]``, as in a `RawTable`.
        missing: Which cells to fill, ``[N, D]``.
        forms: From `forms_of` a larger frame, so that what a row gets does not depend on its neighbours.
        rounded: Whether floats get as many decimals as those that are seen; else they stay as they are.
        like: The frame that forms are of, perhaps without rows, for the types of columns without any cell.
    """
    columns = checked_columns(frame, schema)
    shape = (n_rows(frame), len(schema))
    _check("values", values, shape)
    _check("missing", missing, shape)
    filled = {}
    for d, column in enumerate(schema):
        rows = np.flatnonzero(missing[:, d])
        if rows.size:
            native, known = columns[column.name], None if forms is None else forms[column.name]
            numbers, here = (
                _finite(np.asarray(values, dtype=np.float64)[rows, d], column.name),
                form_of(native, column),
            )
            if known is not None and rows.size == shape[0] and not could_hold(native, here, known):
                made = values_for(column, numbers, known, rounded=rounded)
                filled[column.name] = whole_column(made, native, _type_in(like, frame, column.name))
                continue
            wide = native if known is None else wide_enough(native, here, column, numbers, known)
            form = _form(wide, here if wide is native else form_of(wide, column), known)
            filled[column.name] = _put(wide, rows, values_for(column, numbers, form, rounded=rounded), column)
    return _replace(frame, filled)


def build(schema: Schema, values: Array, like: Any, forms: Mapping[str, Form] | None = None) -> Any:
    """A new frame from raw values.

    Args:
        schema: The columns.
        values: Raw values in the order of the schema, ``[N, D]``, as in a `RawTable`.
        like: A frame, perhaps without rows, whose kind, columns and types the result takes over. Columns that the
            schema ignores are left out.
        forms: From `forms_of` a frame with rows, because one without does not show what its objects and times are.
    """
    templates = {name: c for name, c in checked_columns(like, schema).items() if name in schema}
    _check("values", values, (len(values), len(schema)))
    made = {}
    for name, native in templates.items():
        numbers = _finite(np.asarray(values, dtype=np.float64)[:, schema.names.index(name)], name)
        form = _form(native, form_of(native, schema[name]), None if forms is None else forms[name])
        made[name] = make(values_for(schema[name], numbers, form), native)
    return _assemble(made, like)


def forms_of(frame: Any, schema: Schema) -> dict[str, Form]:
    """What the values of every column of the schema look like."""
    columns = checked_columns(frame, schema)
    return {column.name: form_of(columns[column.name], column) for column in schema}


def _form(native: Any, here: Form, known: Form | None) -> Form:
    """The form of a column: its type says most; what only its values say is taken from the known one."""
    if known is None:
        return here
    if is_text(native) or here.like:
        return known if known.like else as_text(known, here)
    if here.sort == "other" or (is_object(native) and not known.like):
        return known
    whole = known.whole or known.sort == "integer"  # pandas makes floats of integers with holes
    return replace(here, whole=whole, whole_days=known.whole_days, digits=known.digits)


def _type_in(like: Any, frame: Any, name: str) -> Any:
    """A column of a frame of the same kind, for its type; None if there is none."""
    return None if like is None or type(like) is not type(frame) else columns_of(like).get(name)


def _put(column: Any, rows: NDArray[np.intp], values: list[Any], about: Column) -> Any:
    """The column with some rows replaced."""
    column = with_categories(column, values, about)
    if hasattr(column, "sparse"):  # these cannot be assigned to
        dense = _put(column.sparse.to_dense(), rows, values, about)
        return type(column)(type(column.array)(dense, dtype=column.dtype), index=column.index, name=column.name)
    made = make(values, column)
    if isinstance(column, np.ndarray):
        result = column.astype(np.result_type(column, made))
        result[rows] = made
        return result
    if nw.dependencies.is_pandas_series(column):
        result = column.copy()
        result.iloc[rows] = made.array
        return result
    if len(rows) == len(column):  # where nothing was seen, not even a type
        return made
    # New values behind the old ones, then each row from where it is: this keeps every type, dictionaries too.
    places = np.arange(len(column))
    places[rows] = len(column) + np.arange(len(rows))
    if nw.dependencies.is_polars_series(column):
        return column.clone().append(made).gather(places)
    arrow = nw.dependencies.get_pyarrow()
    chunks = arrow.chunked_array([*column.chunks, *made.chunks], type=column.type)
    return chunks.take(arrow.array(places))


def _replace(frame: Any, filled: dict[str, Any]) -> Any:
    """The frame with some columns replaced, by position, since names need not be strings."""
    places = {name: j for j, name in enumerate(columns_of(frame))}
    if isinstance(frame, np.ndarray):
        result = frame.astype(np.result_type(frame, *filled.values()))
        for name, column in filled.items():
            result[:, places[name]] = column
        return result
    if nw.dependencies.is_polars_dataframe(frame):
        return frame.with_columns(list(filled.values()))
    if nw.dependencies.is_pyarrow_table(frame):
        for name, column in filled.items():
            field = frame.schema.field(places[name]).with_type(column.type)
            frame = frame.set_column(places[name], field, column)
        return frame
    result = frame.copy()
    for name, column in filled.items():
        result.isetitem(places[name], column)
    return result


def _assemble(columns: dict[str, Any], like: Any) -> Any:
    if isinstance(like, np.ndarray):
        return np.stack(list(columns.values()), axis=1)
    if nw.dependencies.is_polars_dataframe(like):
        return type(like)(columns)  # by name: from a list, one without a name would get another
    if nw.dependencies.is_pyarrow_table(like):
        fields = [like.schema.field(name).with_type(column.type) for name, column in columns.items()]
        return type(like).from_arrays(list(columns.values()), schema=nw.dependencies.get_pyarrow().schema(fields))
    result = type(like)(columns)
    result.columns = like.columns[[name in columns for name in columns_of(like)]]
    return result


def _check(name: str, array: NDArray[Any], shape: tuple[int, int]) -> None:
    if np.shape(array) != shape:
        raise ValueError(f"{name} should have the shape {list(shape)}. Found {list(np.shape(array))}.")


def _finite(numbers: Array, name: str) -> Array:
    if not np.isfinite(numbers).all():
        raise ValueError(f"values should be finite where they are used. Found NaN or infinity in column {name!r}.")
    return numbers
