"""Numbers in the form that a column of a frame has."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..cells import EPOCH, LARGEST_WHOLE, MICROSECONDS_PER_DAY, cells, is_missing
from ..schema import Column
from ..written import ZONE, parsed

Sort = Literal["integer", "float", "boolean", "date", "datetime", "duration", "other"]
# Days that datetimes can hold, in Python and in nanoseconds.
FIRST_DAY, LAST_DAY = -719_000, 2_932_000
NANOSECOND_DAYS = 106_000
SURE = 20  # values that must be whole, or have few decimals, before this is more than chance
MOST_DIGITS = 8  # decimals that a column can have, and not just numbers that need so many
EXAMPLES = {"date": "2000-01-31", "datetime": "2000-01-31 00:00:00", "duration": "1 day"}  # of how text is written


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
        digits: How many decimals floats have, as far as they are seen; None if they are not cut.
        like: A text of the column, where numbers, dates or categories are written as text.
    """

    sort: Sort
    low: int = -LARGEST_WHOLE
    high: int = LARGEST_WHOLE
    zoned: bool = False
    whole_days: bool = False
    whole: bool = False
    digits: int | None = None
    like: str = ""


def form_of(native: Any, column: Column) -> Form:
    """The form of a column of a frame or an array; text is taken as what its column in the schema says."""
    if isinstance(native, np.ndarray):
        return _form_of_array(native, column)
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
    if dtype == nw.String or dtype in (nw.Object, nw.Unknown):
        return _form_of_objects(nw.from_native(native, series_only=True).to_list(), native, column)
    return Form("other")


def is_text(native: Any) -> bool:
    """Whether a column can hold text only."""
    if isinstance(native, np.ndarray):
        return native.dtype.kind in "UT"
    # objects without any cell pass for text there
    return not is_object(native) and nw.from_native(native, series_only=True).dtype == nw.String


def is_object(native: Any) -> bool:
    """Whether a column holds objects of any type."""
    return str(getattr(native, "dtype", "")) == "object"


def as_text(form: Form, here: Form) -> Form:
    """A form whose values are written as text, like those of another where these are known."""
    return replace(form, like=here.like or EXAMPLES.get(form.sort, "text"))


def values_for(column: Column, numbers: NDArray[np.float64], form: Form, *, rounded: bool = True) -> list[Any]:
    """Raw numbers or codes of a column, as Python values in its form; floats with its decimals, or as they are."""
    if column.kind.nominal:
        return [_as_category(column.categories[int(code)], form) for code in np.rint(numbers)]
    if column.unit == "days":
        times = [_as_time(day, form) for day in numbers.tolist()]
        return [_time_like(time, form.like) for time in times] if form.like else times
    if form.sort == "boolean":
        return [bool(value >= 0.5) for value in numbers]
    if form.sort == "integer":
        return [int(value) for value in np.clip(np.rint(numbers), form.low, form.high)]
    digits = None if not rounded else 0 if form.whole or column.kind.whole else form.digits
    values: list[Any] = (numbers if digits is None else np.round(numbers, digits)).tolist()
    return [repr(v) if digits is None else f"{v:.{digits}f}" for v in values] if form.like else values


def _time_like(time: datetime.date | datetime.timedelta, like: str) -> str:
    """A date or a time as the example is written, in UTC where it has a zone."""
    if not isinstance(time, datetime.datetime):
        return str(time)
    if len(like) <= len(EXAMPLES["date"]):
        return str(time.date())
    clock = re.sub(f"{ZONE}$", "", like[11:])
    spec = {5: "minutes", 8: "seconds"}.get(len(clock), "microseconds")
    zone = "" if time.tzinfo is None else "Z" if like.endswith("Z") else "+00:00"
    return time.replace(tzinfo=None).isoformat(sep=like[10], timespec=spec) + zone


def _as_category(category: Any, form: Form) -> Any:
    if form.like:
        return str(category)
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


def _form_of_array(native: NDArray[Any], column: Column) -> Form:
    kind = native.dtype.kind
    if kind in "iu":
        return Form("integer", *_limits(native.dtype.name))
    if kind in "mM":
        unit = np.datetime_data(native.dtype)[0]
        return _form_of_times(native, "datetime" if kind == "M" else "duration", unit == "ns", False)
    if kind in "OUT":
        return _form_of_objects(native.tolist(), native, column)
    return _form_of_floats(native) if kind == "f" else Form("boolean" if kind == "b" else "other")


def _form_of_floats(native: Any) -> Form:
    digits = _digits(cells(native).seen, single="32" in str(getattr(native, "dtype", "")))
    return Form("float", whole=digits == 0, digits=digits)


def _digits(seen: NDArray[np.float64], *, single: bool = False) -> int | None:
    """The decimals that all numbers have at most. Of a few numbers it may be so by chance."""
    if seen.size < SURE:
        return None
    kept = np.float32 if single else np.float64
    cut = (d for d in range(MOST_DIGITS + 1) if (np.round(seen, d).astype(kept) == seen.astype(kept)).all())
    return next(cut, None)


def _form_of_times(native: Any, sort: Sort, nanoseconds: bool, zoned: bool) -> Form:
    seen = cells(native).seen
    whole = seen.size > 0 and bool((seen == np.floor(seen)).all())
    low, high = (-NANOSECOND_DAYS, NANOSECOND_DAYS) if nanoseconds else (FIRST_DAY, LAST_DAY)
    return Form(sort, low, high, zoned, whole)


def _form_of_objects(values: list[Any], native: Any, column: Column) -> Form:
    """Objects have the type of those that are seen; where all are missing, nothing is known."""
    texts = [value for value in values if isinstance(value, str)]
    if texts and all(isinstance(value, str) or is_missing(value) for value in values):
        return _form_of_texts(native, texts, column)
    kinds: list[tuple[Any, Form]] = [
        (bool | np.bool_, Form("boolean")),
        (int | np.integer, Form("integer")),
        (int | float | np.integer | np.floating, Form("float")),
        (datetime.datetime, Form("datetime", FIRST_DAY, LAST_DAY)),
        (datetime.date, Form("date", FIRST_DAY, LAST_DAY)),
        (datetime.timedelta, Form("duration", FIRST_DAY, LAST_DAY)),
    ]
    # words among numbers are missing
    seen: list[Any] = [value for value in values if not isinstance(value, str) and not is_missing(value)]
    for kind, form in kinds:
        if seen and all(isinstance(value, kind) for value in seen):
            zoned = form.sort == "datetime" and seen[0].tzinfo is not None
            return Form(form.sort, form.low, form.high, zoned)
    return Form("other")


def _form_of_texts(native: Any, texts: list[str], column: Column) -> Form:
    """What is written as text."""
    if column.kind.nominal:
        return Form("other", like=texts[0])
    data = cells(native)
    if column.unit:
        seen = parsed(data, "dates")[0]
        dates = [text for text, there in zip(data.values.tolist(), seen.observed, strict=True) if there]
        like = max(dates, key=len, default=EXAMPLES["date"])
        zoned = re.fullmatch(rf".*:.*{ZONE}", like) is not None
        return Form("date" if len(like) == 10 else "datetime", FIRST_DAY, LAST_DAY, zoned, len(like) == 10, like=like)
    digits = _digits(parsed(data, "numbers")[0].seen)
    return Form("float", whole=digits == 0, digits=digits, like=texts[0])


def _limits(dtype: str) -> tuple[int, int]:
    """The range of an integer type by its name, within what double precision can hold."""
    bits = int((re.findall(r"\d+", dtype) or ["64"])[0])
    low, high = (0, 2**bits - 1) if dtype.lower().startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return max(low, -LARGEST_WHOLE), min(high, LARGEST_WHOLE)
