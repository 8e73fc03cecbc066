"""Guesses the schema of a table, and says in words why, column by column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ...common import ArgumentError
from ..cells import Cells, cells, columns_of, n_rows
from ._column import BY_HAND, IGNORE, Category, Column, as_fields
from ._kinds import Kind
from ._schema import Schema

LARGEST_COUNT = 1000  # above, a Poisson distribution is far narrower than data are
MOST_CATEGORIES = 200
FEW_VALUES, FEW_SHARE = 10, 0.05  # numbers that may be labels: so many values at most, in so small a part of the rows
MANY_VALUES, MANY_SHARE = 20, 0.9  # text that may be ids: more values than this, in more than this part of the rows
LONG_TEXT = 40  # text that may be sentences: more characters than this on average
FEWEST_IDS = 20  # whole numbers that may be ids: so many cells at least
ID_NAME = re.compile(r"(?i:id|index|key|rowid|uuid|.*[_ ]id|id_.*)|.*[a-z0-9]I[dD]")
ADVICE = "drop it, pass unsupported='ignore', or name its kind in overrides"

Override = Kind | str | Column | Mapping[str, Any]


class _Unsuitable(ValueError):
    """A column that is sound and yet tells a model nothing: it may be ignored."""


def infer(
    frame: Any,
    overrides: Mapping[str, Override] | None = None,
    *,
    unsupported: Literal["error", "ignore"] = "error",
) -> Schema:
    """See `Schema.infer`."""
    if unsupported not in ("error", "ignore"):
        raise ValueError(f"unsupported should be 'error' or 'ignore'. Found {unsupported!r}.")
    overrides = dict(overrides or {})
    columns = columns_of(frame)
    _check_frame(frame, columns, overrides)
    found: list[Column] = []
    ignored: dict[str, str] = {}
    problems: dict[str, str] = {}
    for name, column in columns.items():
        if overrides.get(name) == IGNORE:  # unread, so that what is broken may be ignored too
            ignored[name] = BY_HAND
            continue
        try:
            found.append(_column(name, column, overrides.get(name)))
        except _Unsuitable as error:
            if unsupported == "ignore":
                ignored[name] = _sentence(str(error))
            else:
                problems[name] = str(error)
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        raise ValueError(_complaint(problems))
    if not found:
        found_instead = f"{len(ignored)}, all of them ignored: {', '.join(ignored)}"
        advice = "Name the kind of one in overrides."
        raise ArgumentError("frame", "have a column to model", found_instead, advice)
    return Schema(tuple(found), ignored)


def _check_frame(frame: Any, columns: Mapping[str, Any], overrides: Mapping[str, Override]) -> None:
    if not columns or not n_rows(frame):
        raise ValueError(
            f"frame should have rows and columns. Found {n_rows(frame)} rows and {len(columns)} columns."
        )
    for name in overrides:
        if name not in columns:
            raise ValueError(f"overrides should name columns of the frame ({', '.join(columns)}). Found {name!r}.")


def _complaint(problems: Mapping[str, str]) -> str:
    lines = [f"  column {name!r} {text}." for name, text in problems.items()]
    return "\n".join(["frame should have columns that a model can describe. Found otherwise:", *lines])


def _sentence(text: str) -> str:
    """What completes "column 'x' ..." as a sentence of its own, without the advice."""
    text = text.partition(";")[0]
    return f"{text[:1].upper()}{text[1:]}."


def _column(name: str, native: Any, override: Override | None) -> Column:
    if isinstance(override, Column):
        if override.name != name:
            raise ValueError(f"has an override that should bear its name, not {override.name!r}")
        cells(native)  # what cannot be read stays an error
        return override
    data = cells(native)
    _check_informative(data)
    if override is not None:
        return _as_told(name, data, as_fields(name, override))
    if data.sort == "number":
        _check_no_ids(name, native, data)
    return _guess(name, data)


def _check_informative(data: Cells) -> None:
    if not data.observed.any():
        raise _Unsuitable("is empty, all its cells are missing; drop it or pass unsupported='ignore'")
    first = data.seen[0]
    if (data.seen == first).all():
        raise _Unsuitable(f"is constant, all its cells are {_show(first)}; drop it or pass unsupported='ignore'")


def _check_no_ids(name: str, native: Any, data: Cells) -> None:
    n, smallest, largest = len(data.seen), data.seen.min(), data.seen.max()
    different = n >= FEWEST_IDS and len(np.unique(data.seen)) == n
    if not different or not (data.seen == np.floor(data.seen)).all():
        return
    if _is_integer(native) and data.observed.all() and smallest >= 0 and largest - smallest == n - 1:
        raise _Unsuitable(
            f"holds every whole number from {_show(smallest)} to {_show(largest)} once, which look like the numbers "
            f"of the rows; {ADVICE}"
        )
    if ID_NAME.fullmatch(name):
        raise _Unsuitable(f"holds {n} different whole numbers and is named like an id; {ADVICE}")


def _is_integer(native: Any) -> bool:
    """Whether it is a column of integers with a name; the columns of arrays have none."""
    if isinstance(native, np.ndarray) or not isinstance(getattr(native, "name", ""), str):
        return False
    return nw.from_native(native, series_only=True).dtype.is_integer()


def _guess(name: str, data: Cells) -> Column:
    if data.sort == "number":
        return _guess_numbers(name, data.seen)
    if data.sort == "boolean":
        return Column(name, Kind.BINARY, (False, True), reason="True or false.")
    if data.sort == "time":
        return Column(name, Kind.REAL, unit="days", reason="Dates or durations, taken in days.")
    return _guess_categories(name, data)


def _guess_numbers(name: str, seen: NDArray[np.float64]) -> Column:
    distinct, smallest, largest = np.unique(seen), seen.min(), seen.max()
    between = f"from {_show(smallest)} to {_show(largest)}"
    if len(distinct) == 2:
        categories = _levels(distinct)
        return Column(name, Kind.BINARY, categories, reason=f"Two values, {categories[0]} and {categories[1]}.")
    if not (distinct == np.floor(distinct)).all():
        if smallest > 0:
            return Column(name, Kind.POSITIVE, reason=f"Numbers {between}, all above zero.")
        return Column(name, Kind.REAL, reason=f"Numbers {between}.{_zero_hint(smallest)}")
    labels = ""
    if len(distinct) <= FEW_VALUES and len(distinct) < FEW_SHARE * len(seen):
        labels = f" If its {len(distinct)} values are labels, categorical may be meant."
    if smallest < 0:
        return Column(name, Kind.REAL, reason=f"Whole numbers {between}, some below zero.{labels}")
    if largest <= LARGEST_COUNT:
        return Column(name, Kind.COUNT, reason=f"Whole numbers {between}.{labels}")
    reason = f"Whole numbers {between}, too large for a count.{labels}"
    if smallest > 0:
        return Column(name, Kind.POSITIVE, reason=reason)
    return Column(name, Kind.REAL, reason=reason + _zero_hint(smallest))


def _zero_hint(smallest: float) -> str:
    return " None is below zero: positive with a zero_offset may be meant." if smallest == 0 else ""


def _guess_categories(name: str, data: Cells) -> Column:
    levels, n = _levels_of(data), int(data.observed.sum())
    if len(levels) > MOST_CATEGORIES or (data.sort == "text" and len(levels) > max(MANY_VALUES, MANY_SHARE * n)):
        raise _Unsuitable(f"has {len(levels)} categories in {n} cells, which look like ids or free text; {ADVICE}")
    if data.sort == "text" and len(levels) > MANY_VALUES:
        _check_no_sentences(data.seen, len(levels))
    if len(levels) == 2:
        return Column(name, Kind.BINARY, levels, reason=f"Two categories, {_show(levels[0])} and {_show(levels[1])}.")
    if data.ordered:
        return Column(name, Kind.ORDINAL, levels, reason=f"{len(levels)} categories, declared as ordered.")
    what = "declared categories" if data.sort == "category" else "different texts"
    return Column(name, Kind.CATEGORICAL, levels, reason=f"{len(levels)} {what}.")


def _check_no_sentences(seen: NDArray[Any], n_levels: int) -> None:
    length = sum(len(text) for text in seen) / len(seen)
    if length > LONG_TEXT:
        raise _Unsuitable(
            f"has {n_levels} different texts of {length:.0f} characters on average, which look like free text; "
            f"{ADVICE}"
        )


def _levels_of(data: Cells) -> tuple[Category, ...]:
    """All categories: those declared, or else those seen, sorted."""
    if data.sort == "boolean":
        return (False, True)
    return _levels(data.categories if data.sort == "category" else sorted(set(data.seen.tolist())))


def _levels(values: Any) -> tuple[Category, ...]:
    """Plain values; whole numbers as integers, because a missing cell turns integers into floating point."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    return tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in plain)


def _as_told(name: str, data: Cells, fields: dict[str, Any]) -> Column:
    """A column of the kind that the user names, with the rest from the data."""
    kind = Kind(fields["kind"]) if "kind" in fields else _guess(name, data).kind
    fields = {"reason": f"Set to {kind} by hand.", **fields, "kind": kind}
    if kind.nominal:
        if data.sort == "time":
            raise ValueError(f"cannot be {kind}, it holds dates or durations; convert it to text")
        fields.setdefault("categories", _levels_of(data))
        return Column(name, **fields)
    if data.sort in ("text", "category"):
        raise ValueError(f"cannot be {kind}, it holds categories such as {_show(data.seen[0])}")
    if data.sort == "time":
        fields.setdefault("unit", "days")
    _check_numbers(data.seen, kind, fields.get("zero_offset"))
    return Column(name, **fields)


def _check_numbers(seen: NDArray[np.float64], kind: Kind, zero_offset: object) -> None:
    if kind.whole:
        check_whole(seen)
    if kind.above_zero and zero_offset is None and seen.min() <= 0:
        raise ValueError(f"cannot be {kind}, it holds {_show(seen.min())}; give it a zero_offset or make it real")


def check_whole(seen: NDArray[np.float64]) -> None:
    """Counts are whole numbers from zero."""
    wrong = seen[(seen < 0) | (seen != np.floor(seen))]
    if wrong.size:
        raise ValueError(f"cannot be a count, it holds {_show(wrong[0])}; make it real or positive")


def _show(value: Any) -> str:
    """A value as a reader would write it."""
    value = value.item() if isinstance(value, np.generic) else value
    return f"{value:.10g}" if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)
