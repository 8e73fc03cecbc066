"""Numbers in the form that a column of a frame has."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..cells import EPOCH, LARGEST_WHOLE, MICROSECONDS_PER_DAY, cells, is_missing
from ..schema import Column

Sort = Literal["integer", "float", "boolean", "date", "datetime", "duration", "other"]
# Days that datetimes can hold, in Python and in nanoseconds.
FIRST_DAY, LAST_DAY = -719_000, 2_932_000
NANOSECOND_DAYS = 106_000
SURE = 20  # values that must be whole before a column of floats counts as one of integers


@dataclass(frozen=True)
class Form:
    """What the values of a column should look like.

    Attributes:
        sort: The type of a value.
        low: The smallest integer, or the first day, that fits.
        high: The largest.
        zoned: Whether datetimes have a time zone.
        whole_days: Whether times are whole days, as far as they are seen.
        whole: Whether floats are whole numbers, as integers with holes are.
    """

    sort: Sort
    low: int = -LARGEST_WHOLE
    high: int = LARGEST_WHOLE
    zoned: bool = False
    whole_days: bool = False
    whole: bool = False


def form_of(native: Any) -> Form:
    """The form of a column of a frame or an array."""
    if isinstance(native, np.ndarray):
        return _form_of_array(native)
    dtype = nw.from_native(native, series_only=True).dtype
    if dtype.is_integer():
        return Form("integer", *_limits(str(dtype)))
    if dtype.is_float():
        return _form_of_floats(native)
    if dtype == nw.Boolean:
        return Form("boolean")
    if dtype == nw.Date:
        return Form("date", FIRST_DAY, LAST_DAY)
    if dtype == nw.Datetime or dtype == nw.Duration:
        sort: Sort = "datetime" if dtype == nw.Datetime else "duration"
        return _form_of_times(native, sort, dtype.time_unit == "ns", getattr(dtype, "time_zone", None) is not None)
    return _form_of_objects(list(native)) if dtype in (nw.Object, nw.Unknown) else Form("other")


def values_for(column: Column, numbers: NDArray[np.float64], form: Form) -> list[Any]:
    """Raw numbers or codes of a column, as Python values in its form."""
    if column.kind.nominal:
        return [_as_category(column.categories[int(code)], form) for code in np.rint(numbers)]
    if column.unit == "days":
        return [_as_time(day, form) for day in numbers.tolist()]
    if form.sort == "boolean":
        return [bool(value >= 0.5) for value in numbers]
    if form.sort == "integer":
        return [int(value) for value in np.clip(np.rint(numbers), form.low, form.high)]
    whole = form.whole or column.kind.whole
    return [float(value) for value in (np.rint(numbers) if whole else numbers)]


def _as_category(category: Any, form: Form) -> Any:
    convert = {"integer": int, "float": float, "boolean": bool}.get(form.sort)
    return convert(category) if convert else category


def _as_time(days: float, form: Form) -> datetime.date | datetime.timedelta:
    days = min(max(days, form.low), form.high)
    if form.whole_days or form.sort == "date":
        days = round(days)
    since = datetime.timedelta(microseconds=round(days * MICROSECONDS_PER_DAY))
    if form.sort == "duration":
        return since
    if form.sort == "date":
        return (EPOCH + since).date()
    return (EPOCH + since).replace(tzinfo=datetime.UTC) if form.zoned else EPOCH + since


def _form_of_array(column: NDArray[Any]) -> Form:
    kind = column.dtype.kind
    if kind in "iu":
        return Form("integer", *_limits(column.dtype.name))
    if kind in "mM":
        unit = np.datetime_data(column.dtype)[0]
        return _form_of_times(column, "datetime" if kind == "M" else "duration", unit == "ns", False)
    if kind == "O":
        return _form_of_objects(column.tolist())
    return _form_of_floats(column) if kind == "f" else Form("boolean" if kind == "b" else "other")


def _form_of_floats(native: Any) -> Form:
    seen = cells(native).seen
    # a few whole numbers may be so by chance
    return Form("float", whole=seen.size >= SURE and bool((seen == np.floor(seen)).all()))


def _form_of_times(native: Any, sort: Sort, nanoseconds: bool, zoned: bool) -> Form:
    seen = cells(native).seen
    whole = seen.size > 0 and bool((seen == np.floor(seen)).all())
    low, high = (-NANOSECOND_DAYS, NANOSECOND_DAYS) if nanoseconds else (FIRST_DAY, LAST_DAY)
    return Form(sort, low, high, zoned, whole)


def _form_of_objects(values: list[Any]) -> Form:
    """Objects have the type of those that are seen; where all are missing, nothing is known."""
    kinds: list[tuple[Any, Form]] = [
        (bool | np.bool_, Form("boolean")),
        (int | np.integer, Form("integer")),
        (int | float | np.integer | np.floating, Form("float")),
        (datetime.datetime, Form("datetime", FIRST_DAY, LAST_DAY)),
        (datetime.date, Form("date", FIRST_DAY, LAST_DAY)),
        (datetime.timedelta, Form("duration", FIRST_DAY, LAST_DAY)),
    ]
    seen: list[Any] = [value for value in values if not is_missing(value)]
    for kind, form in kinds:
        if seen and all(isinstance(value, kind) for value in seen):
            zoned = form.sort == "datetime" and seen[0].tzinfo is not None
            return Form(form.sort, form.low, form.high, zoned)
    return Form("other")


def _limits(dtype: str) -> tuple[int, int]:
    """The range of an integer type by its name, within what double precision can hold."""
    bits = int((re.findall(r"\d+", dtype) or ["64"])[0])
    low, high = (0, 2**bits - 1) if dtype.lower().startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return max(low, -LARGEST_WHOLE), min(high, LARGEST_WHOLE)
