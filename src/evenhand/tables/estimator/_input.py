"""What users pass as X, in a form that the rest can read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array

from ...common import ArgumentError
from ..cells import columns_of, n_missing
from ..frames import RawTable, check_extremes, read
from ..schema import Column, Schema

if TYPE_CHECKING:
    from ._tabular_vae import TabularVAE

ARGUMENTS = {"frame": "X", "overrides": "schema"}  # what the estimator calls the arguments of others


def tidy(X: Any) -> Any:
    """A frame as it is; anything else as a two-dimensional array."""
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X should be a DataFrame. Found a lazy one: call collect() first.")
    if isinstance(X, Mapping) and not issparse(X):  # scipy has a sparse matrix that is a dict
        raise TypeError(f"X should be a DataFrame or an array. Found a {type(X).__name__}: make a DataFrame of it.")
    if _is_pandas(X) or nw.dependencies.is_into_dataframe(X):
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"X should have rows and columns. Found 0 sample(s) or 0 feature(s) (shape={tuple(X.shape)}) while a "
                "minimum of 1 is required."
            )
        _check_names(X)
        return X
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(float if X.dtype.kind in "biuf" else object), np.nan)  # what is masked is missing
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        X = np.asarray(X, dtype=object)  # numpy would turn the numbers beside texts into texts
    # numbers stay numbers; objects and texts are looked at column by column later
    return check_array(X, dtype=None, ensure_all_finite=False, estimator="TabularVAE")


def _check_names(X: Any) -> None:
    names = [str(name) for name in (X.column_names if nw.dependencies.is_pyarrow_table(X) else X.columns)]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ArgumentError("X", "have columns with distinct names", f"{twice!r} twice", "Rename one.")


def remember_columns(estimator: Any, X: Any) -> None:
    """scikit-learn's names and number of features."""
    if isinstance(X, np.ndarray) or _is_pandas(X):
        _check_feature_names(estimator, X, reset=True)
        _check_n_features(estimator, X, reset=True)
    else:
        estimator.feature_names_in_ = np.asarray(nw.from_native(X, eager_only=True).columns, dtype=object)
        estimator.n_features_in_ = X.shape[1]


def find_schema(estimator: TabularVAE, X: Any) -> Schema:
    """The schema that was given, or the one that is inferred."""
    if isinstance(estimator.schema, Schema):
        return estimator.schema
    with _in_words_of_users():
        return Schema.infer(X, dict(estimator.schema or {}), unsupported=estimator.unsupported)


def read_training_rows(X: Any, schema: Schema) -> RawTable:
    """The cells of a table, once there is something to learn from."""
    with _in_words_of_users():
        table = read(X, schema)
    check_table(table, schema)
    check_extremes(table, schema)
    return table


def read_rows(estimator: TabularVAE, X: Any, like: Any, fills: bool) -> RawTable:
    """The cells of new rows. Columns of frames are found by name, those of arrays by their place.

    Args:
        estimator: What was fitted.
        X: The rows.
        like: A table of the kind that it was fitted to.
        fills: Whether holes are filled, so that those of columns that are ignored need a word.
    """
    if isinstance(X, np.ndarray) != isinstance(like, np.ndarray):
        kinds = ("an array", "a frame") if isinstance(like, np.ndarray) else ("a frame", "an array")
        advice = "Columns of frames are found by name, those of arrays by their place: pass what fit got."
        raise ArgumentError("X", f"be {kinds[0]}, as in fit", kinds[1], advice)
    if isinstance(X, np.ndarray):
        _check_n_features(estimator, X, reset=False)
    with _in_words_of_users():
        table = read(X, estimator.schema_, unseen="missing")
    check_extremes(table, estimator.schema_)
    if fills:
        _warn_of_holes(X, estimator.schema_)
    return table


def _warn_of_holes(X: Any, schema: Schema) -> None:
    """Say which holes stay: those of columns that are ignored."""
    columns = columns_of(X)
    left = {name: n_missing(columns[name]) for name in schema.ignored if name in columns}
    named = [f"{name!r} ({n:,})" for name, n in left.items() if n]
    if named:
        shown = ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")
        warnings.warn(
            f"{sum(left.values()):,} missing cells are left, in columns that are ignored: {shown}. schema_.ignored "
            "says why; give such a column a kind in schema to have it filled.",
            stacklevel=5,
        )


@contextmanager
def _in_words_of_users() -> Iterator[None]:
    """Mistakes in what others call frame and overrides are mistakes in X and schema."""
    try:
        yield
    except ArgumentError as error:
        raise error.about(ARGUMENTS.get(error.argument, error.argument)) from error


def names_out(estimator: Any, input_features: Any) -> NDArray[np.object_]:
    """Names of columns that come out as they went in, by scikit-learn's rules."""
    names = getattr(estimator, "feature_names_in_", None)
    if input_features is not None:
        given = np.asarray(input_features, dtype=object)
        if len(given) != estimator.n_features_in_ or (names is not None and list(given) != list(names)):
            raise ValueError("input_features is not equal to feature_names_in_")
        return given
    return np.asarray([f"x{i}" for i in range(estimator.n_features_in_)] if names is None else names, dtype=object)


def as_wanted(estimator: Any, frame: Any) -> Any:
    """In the library that `set_output` asks for: scikit-learn would send columns of all types through one array."""
    wanted = _get_output_config("transform", estimator)["dense"]
    if wanted == "default" or isinstance(frame, np.ndarray) or _is_pandas(frame):
        return frame
    columns = nw.from_native(frame, eager_only=True)
    return columns.to_pandas() if wanted == "pandas" else columns.to_polars()


def check_table(table: RawTable, schema: Schema) -> None:
    """Refuse a table with nothing to learn from."""
    if not len(schema):
        reasons = ", ".join(f"{name!r} ({why.rstrip('.')})" for name, why in list(schema.ignored.items())[:5])
        advice = "Name the kind of one in schema."
        raise ArgumentError("X", "have a column to learn from", f"all ignored: {reasons}", advice)
    empty = [c.name for d, c in enumerate(schema) if not table.observed[:, d].any()]
    if empty:
        raise ArgumentError("X", "have values in all columns of the schema", f"none in {', '.join(empty)}")


def table_of(given: Mapping[str, Any], schema: Schema, n: int) -> RawTable:
    """Rows with the given cells only; cells of sequences that are missing are not given."""
    if not isinstance(given, Mapping):
        advice = "Of a DataFrame, dict(frame) is one."
        raise ArgumentError("given", "be a dictionary of columns", type(given).__name__, advice)
    given = {str(name): wanted for name, wanted in given.items()}
    unknown = [name for name in given if name not in schema.names]
    if unknown:
        ignored = [f"{name!r} is ignored: {schema.ignored[name]}" for name in unknown if name in schema.ignored]
        found = ", ".join(map(repr, unknown))
        raise ArgumentError("given", "name columns of the table", found, " ".join(ignored))
    values, observed = np.zeros((n, len(schema))), np.zeros((n, len(schema)), bool)
    for d, column in enumerate(schema):
        if column.name in given:
            table = _given_column(given[column.name], column, n)
            values[:, d], observed[:, d] = table.values[:, 0], table.observed[:, 0]
    return RawTable(values, observed)


def _given_column(wanted: Any, column: Column, n: int) -> RawTable:
    """One value, or n of them, as a table of one column."""
    cells = [wanted] * n if np.ndim(wanted) == 0 else list(wanted)
    if len(cells) != n:
        raise ArgumentError(f"given[{column.name!r}]", f"have one value, or {n}", str(len(cells)))
    native = np.empty((n, 1), dtype=object)
    native[:, 0] = cells
    if all(isinstance(cell, np.datetime64 | np.timedelta64) for cell in cells):
        native = np.array(cells).reshape(n, 1)
    try:
        table = read(native, Schema((replace(column, name="x0"),)))
    except ValueError as error:
        why = str(error).removeprefix("column 'x0' ").rstrip(".")
        raise ArgumentError(f"given[{column.name!r}]", "fit its column", f"otherwise: it {why}") from error
    low = table.values[table.observed & (table.values < column.lowest)]
    if low.size:
        raise ArgumentError(f"given[{column.name!r}]", "be positive, like its column", f"{low[0]:g}")
    return table


def _is_pandas(X: Any) -> bool:
    return bool(nw.dependencies.is_pandas_dataframe(X))
