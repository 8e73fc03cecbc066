"""The cells of a column, whatever kind of frame it stands in."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

MICROSECONDS_PER_DAY = 86_400e6
LARGEST_WHOLE = 2**53  # beyond it, double precision leaves whole numbers out
EPOCH = datetime.datetime(1970, 1, 1)

Sort = Literal["number", "boolean", "text", "category", "time", "mixed", "nothing"]


@dataclass(frozen=True)
class Cells:
    """A column as plain arrays.

    Attributes:
        sort: What the cells are; ``"mixed"`` if numbers and texts, ``"nothing"`` if none can be told because all are
            missing.
        values: Numbers in double precision (booleans 0 and 1, times in days); text, categories and what is mixed as
            objects.
        observed: Which cells are not missing; the others have no meaning.
        categories: The declared categories, for categories.
        ordered: Whether these have an order.
    """

    sort: Sort
    values: NDArray[Any]
    observed: NDArray[np.bool_]
    categories: tuple[Any, ...] = ()
    ordered: bool = False

    @property
    def seen(self) -> NDArray[Any]:
        """The values that are not missing."""
        return self.values[self.observed]


def columns_of(frame: Any) -> dict[str, Any]:
    """The columns of a frame or an array by name, in order, in their native form."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2 or frame.dtype.names:
            raise ValueError(f"frame should be a table or an array with two axes. Found shape {list(frame.shape)}.")
        return {f"x{j}": frame[:, j] for j in range(frame.shape[1])}
    names, columns = _native_columns(frame)
    texts = [str(name) for name in names]
    twice = [text for i, text in enumerate(texts) if text in texts[:i]]
    if twice:
        raise ValueError(f"frame should have columns with distinct names. Found {twice[0]!r} twice; rename one.")
    return dict(zip(texts, columns, strict=True))


def n_rows(frame: Any) -> int:
    """The number of rows of a frame or an array."""
    return int(frame.num_rows if nw.dependencies.is_pyarrow_table(frame) else len(frame))


def n_missing(column: Any) -> int:
    """How many cells of a native column are missing, whatever the others are."""
    if isinstance(column, np.ndarray):
        return sum(map(is_missing, column.tolist()))
    series = nw.from_native(column, series_only=True)
    nan = series.is_nan() if series.dtype.is_float() else series.is_null()
    return int((series.is_null() | nan).sum())


def cells(column: Any) -> Cells:
    """The cells of a native column. What cannot be read raises a ValueError that completes "column 'x' ..."."""
    if isinstance(column, np.ndarray):
        return _from_numpy(column)
    series = nw.from_native(column, series_only=True)
    dtype = series.dtype
    if dtype.is_integer() and len(series):
        _check_integers(series.min(), series.max())
    if dtype.is_integer() or dtype.is_float():
        return _numbers(_floats(series))
    if dtype == nw.Boolean:
        values = _floats(series)
        return Cells("boolean", values, ~np.isnan(values))
    if dtype == nw.Date or dtype == nw.Datetime:
        return _times(_floats(series.dt.timestamp("us")))
    if dtype == nw.Duration:
        return _times(_floats(series.dt.total_microseconds()))
    if dtype == nw.Categorical or dtype == nw.Enum:
        return _categories(column, series)
    observed = ~series.is_null().to_numpy()
    if not observed.any():
        return Cells("nothing", np.zeros(len(observed)), observed)
    if dtype in (nw.String, nw.Object, nw.Unknown):
        return _objects(series.to_list(), observed)
    raise ValueError(f"holds values of type {dtype}, which no kind describes; drop or convert it")


def _native_columns(frame: Any) -> tuple[list[Any], list[Any]]:
    if nw.dependencies.is_pandas_dataframe(frame):
        return list(frame.columns), [frame.iloc[:, j] for j in range(frame.shape[1])]
    if nw.dependencies.is_polars_dataframe(frame):
        return frame.columns, frame.get_columns()
    if nw.dependencies.is_pyarrow_table(frame):
        return frame.column_names, frame.columns
    hint = "; call .collect() first" if nw.dependencies.is_polars_lazyframe(frame) else ""
    raise ValueError(
        "frame should be a pandas or polars DataFrame, a pyarrow Table or a numpy array with two axes. "
        f"Found {type(frame).__module__}.{type(frame).__name__}{hint}."
    )


def _floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    # A copy: some backends hand out their own memory.
    return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _numbers(values: NDArray[np.float64]) -> Cells:
    if np.isinf(values).any():
        raise ValueError("holds infinite values; replace them by missing values or by numbers")
    return Cells("number", values, ~np.isnan(values))


def _times(microseconds: NDArray[np.float64]) -> Cells:
    return Cells("time", microseconds / MICROSECONDS_PER_DAY, ~np.isnan(microseconds))


def _categories(column: Any, series: nw.Series[Any]) -> Cells:
    declared, ordered = _declared(column, series)
    observed = ~series.is_null().to_numpy()
    values = np.empty(len(observed), dtype=object)
    values[:] = series.to_list()
    sorts = {_sort_of(category) for category in declared}
    if len(sorts) > 1 or not sorts <= {"text", "number", "boolean"}:
        found = ", ".join(sorted({type(category).__name__ for category in declared}))
        raise ValueError(f"has categories of type {found}, where text, numbers or booleans are expected; convert it")
    return Cells("category", values, observed, tuple(declared), ordered)


def _declared(column: Any, series: nw.Series[Any]) -> tuple[list[Any], bool]:
    """The categories in their order, and whether the order is meant."""
    if nw.dependencies.is_pandas_series(column) and hasattr(column.dtype, "categories"):
        return column.cat.categories.tolist(), bool(column.cat.ordered)
    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories), False
    if nw.dependencies.is_pyarrow_chunked_array(column):
        chunks = [chunk.dictionary.to_pylist() for chunk in column.chunks]
        return list(dict.fromkeys(c for chunk in chunks for c in chunk if c is not None)), bool(column.type.ordered)
    # Polars keeps the categories of all its columns in one pool, so only those seen belong here.
    return sorted(series.drop_nulls().unique().to_list()), False


def _from_numpy(column: NDArray[Any]) -> Cells:
    kind = column.dtype.kind
    if kind in "iu" and len(column):
        _check_integers(int(column.min()), int(column.max()))
    if kind in "iuf":
        return _numbers(column.astype(np.float64))
    if kind == "b":
        return Cells("boolean", column.astype(np.float64), np.ones(len(column), dtype=bool))
    if kind in "mM":
        days = column.astype("M8[us]" if kind == "M" else "m8[us]").astype(np.int64).astype(np.float64)
        return _times(np.where(np.isnat(column), np.nan, days))
    if kind in "UTO":
        values = column.tolist()
        observed = np.array([not is_missing(value) for value in values], dtype=bool)
        return _objects(values, observed)
    raise ValueError(f"holds values of type {column.dtype}, which no kind describes; drop or convert it")


def _objects(values: Sequence[Any], observed: NDArray[np.bool_]) -> Cells:
    """Python objects, sorted by what they are."""
    seen = [value for value, there in zip(values, observed, strict=True) if there]
    sorts = {_sort_of(value) for value in seen}
    types = sorted({type(value).__name__ for value in seen})
    if sorts == {"number", "text"}:
        both = np.empty(len(observed), dtype=object)
        both[observed] = seen
        return Cells("mixed", both, observed)
    if len(sorts) > 1:
        raise ValueError(f"mixes values of type {', '.join(types)}; convert it to one type")
    sort = sorts.pop() if sorts else "nothing"
    if sort == "other":
        raise ValueError(f"holds values of type {', '.join(types)}, which no kind describes; drop or convert it")
    if sort == "text":
        texts = np.empty(len(observed), dtype=object)
        texts[observed] = [str(value) for value in seen]
        return Cells("text", texts, observed)
    numbers = np.full(len(observed), np.nan)
    if sort == "number":
        if all(isinstance(value, int | np.integer) for value in seen):
            _check_integers(min(seen), max(seen))
        numbers[observed] = [float(value) for value in seen]
        return _numbers(numbers)
    if sort == "time":
        numbers[observed] = [days(value) * MICROSECONDS_PER_DAY for value in seen]
        return _times(numbers)
    numbers[observed] = [float(value) for value in seen]
    return Cells("boolean" if sort == "boolean" else "nothing", numbers, observed)


def _sort_of(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float | np.integer | np.floating):
        return "number"
    if isinstance(value, datetime.date | datetime.timedelta):  # a datetime is a date
        return "time"
    return "other"


def days(value: datetime.date | datetime.timedelta) -> float:
    """A duration, or the time since 1970-01-01 (in UTC where there is a zone), in days."""
    if isinstance(value, datetime.timedelta):
        return value / datetime.timedelta(days=1)
    if isinstance(value, datetime.datetime):
        naive = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        return (naive - EPOCH) / datetime.timedelta(days=1)
    return float((value - EPOCH.date()).days)


def is_missing(value: Any) -> bool:
    """Whether an object stands for a missing cell."""
    # pandas' own missing values, recognised without pandas; a NaN differs from itself
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _check_integers(smallest: Any, largest: Any) -> None:
    for value in (smallest, largest):
        if not is_missing(value) and abs(int(value)) > LARGEST_WHOLE:
            raise ValueError(
                f"holds the whole number {value}, beyond 2**53, which double precision cannot hold; "
                "convert it to text if it is an id, or to floating point"
            )
