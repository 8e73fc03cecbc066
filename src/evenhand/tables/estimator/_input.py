"""What users pass as X, in a form that the rest can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array

from ..frames import RawTable, read
from ..schema import Column, Schema


def tidy(X: Any) -> Any:
    """A frame as it is; anything else as a two-dimensional array."""
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X should be a DataFrame. Found a lazy one: call collect() first.")
    if isinstance(X, Mapping) and not issparse(X):  # scipy has a sparse matrix that is a dict
        raise TypeError(f"X should be a DataFrame or an array. Found a {type(X).__name__}: make a DataFrame of it.")
    if nw.dependencies.is_into_dataframe(X):
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"X should have rows and columns. Found 0 sample(s) or 0 feature(s) (shape={tuple(X.shape)}) while a "
                "minimum of 1 is required."
            )
        return X
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        X = np.asarray(X, dtype=object)  # numpy would turn the numbers beside texts into texts
    # numbers stay numbers; objects and texts are looked at column by column later
    return check_array(X, dtype=None, ensure_all_finite=False, estimator="TabularVAE")


def remember_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """scikit-learn's names and number of features, stored at fit and compared later."""
    if isinstance(X, np.ndarray) or _is_pandas(X):
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)
    elif reset:
        estimator.feature_names_in_ = np.asarray(nw.from_native(X, eager_only=True).columns, dtype=object)
        estimator.n_features_in_ = X.shape[1]


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
        raise ValueError(f"X should have a column to learn from. All are ignored: {dict(schema.ignored)}.")
    empty = [c.name for d, c in enumerate(schema) if not table.observed[:, d].any()]
    if empty:
        raise ValueError(f"X should have values in all columns of the schema. Found none in {', '.join(empty)}.")


def table_of(given: Mapping[str, Any], schema: Schema, n: int) -> RawTable:
    """Rows with the given cells only; cells of sequences that are missing are not given."""
    given = {str(name): wanted for name, wanted in given.items()}
    unknown = [name for name in given if name not in schema.names]
    if unknown:
        raise ValueError(f"given should name columns of the table. Found {', '.join(map(repr, unknown))}.")
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
        raise ValueError(f"given[{column.name!r}] should have one value, or {n}. Found {len(cells)}.")
    native = np.empty((n, 1), dtype=object)
    native[:, 0] = cells
    if all(isinstance(cell, np.datetime64 | np.timedelta64) for cell in cells):
        native = np.array(cells).reshape(n, 1)
    try:
        return read(native, Schema((replace(column, name="x0"),)))
    except ValueError as error:
        raise ValueError(f"given[{column.name!r}] should fit its column. {error}") from error


def _is_pandas(X: Any) -> bool:
    return bool(nw.dependencies.is_pandas_dataframe(X))
