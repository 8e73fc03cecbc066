"""What `--given` fixes: values as they are typed, to values as their columns have them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._errors import refusal

if TYPE_CHECKING:
    from ..tables.frames import Form
    from ..tables.schema import Column, Schema


def parse_given(texts: list[str], schema: Schema, forms: Mapping[str, Form]) -> dict[str, Any]:
    """Values by column from COLUMN=VALUE; of a category, the one that is written like this."""
    found: dict[str, Any] = {}
    for text in texts:
        names = [name for name in schema.names if text.startswith(f"{name}=")]
        if not names:
            raise refusal("--given", f"be COLUMN=VALUE, with a column of {', '.join(schema.names)}", repr(text))
        name = max(names, key=len)
        if name in found:
            raise refusal("--given", "name a column once", f"{name!r} twice")
        found[name] = _value(text[len(name) + 1 :], schema[name], forms[name])
    return found


def _value(text: str, column: Column, form: Form) -> Any:
    if column.categories:
        return _category(text, column)
    parse, what = _parser(column, form)
    try:
        value = parse(text)
    except (ValueError, OverflowError) as error:
        raise refusal(f"--given {column.name}", f"be {what}", repr(text)) from error
    _check_fits(value, column, form)
    return value


def _parser(column: Column, form: Form) -> tuple[Callable[[str], Any], str]:
    """What reads a value, and what it should be. The unit of dates and of durations is the same."""
    if column.unit and form.sort == "duration":
        return _duration, "a duration such as '3 days', or a number of days"
    if column.unit:
        return _date, "a date such as 2020-01-31"
    return (_truth, "true, false or a number") if form.sort == "boolean" else (_number, "a number")


def _category(text: str, column: Column) -> Any:
    known = {str(category): category for category in column.categories}
    lower = {str(category).lower(): category for category in column.categories if isinstance(category, bool)}
    found = {**lower, **known}
    wanted = text if text in found or not lower else text.lower()
    if wanted not in found:
        raise refusal(f"--given {column.name}", f"be one of {', '.join(known)}", repr(text))
    return found[wanted]


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number to give")
    return number


def _truth(text: str) -> float:
    return float(text.lower() == "true") if text.lower() in ("true", "false") else _number(text)


def _date(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _duration(text: str) -> datetime.timedelta:
    """A number of days, or what pandas takes for a duration."""
    import pandas

    try:
        days = float(text)
    except ValueError:
        days = pandas.Timedelta(text) / pandas.Timedelta(days=1)  # NaN if it is none
    return datetime.timedelta(days=days)  # which takes neither NaN nor infinity


def _check_fits(value: Any, column: Column, form: Form) -> None:
    """Refuse what the column cannot hold, before any work."""
    import pandas

    from ..tables.frames import read
    from ..tables.schema import Schema

    frame = pandas.DataFrame({column.name: [value]}, dtype=object)
    try:
        number = read(frame, Schema((column,))).values[0, 0]
    except ValueError as error:
        raise refusal(f"--given {column.name}", "fit its column", f"{value}: {str(error).rstrip('.')}") from error
    if number < column.lowest:
        raise refusal(f"--given {column.name}", "be positive, like its column", str(value))
    if column.unit and not form.low <= number <= form.high:
        raise refusal(f"--given {column.name}", "be a time that its column can hold", str(value))
