"""Guesses the schema of a table, and says in words why, column by column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ...common import ArgumentError
from ..cells import Cells, cells, columns_of, n_rows
from ..written import What, parsed, reading_of, told
from ._categories import guess_categories, levels, levels_of
from ._column import BY_HAND, IGNORE, Column, as_fields
from ._kinds import Kind
from ._schema import Schema
from ._words import ADVICE, NAME_KINDS, Unsuitable, show

LARGEST_COUNT = 1000  # above, a Poisson distribution is far narrower than data are
FEW_VALUES, FEW_SHARE = 10, 0.05  # numbers that may be labels: so many values at most, in so small a part of the rows
FEWEST_IDS = 20  # whole numbers that may be ids: so many cells at least
ID_NAME = re.compile(r"(?i:id|index|key|rowid|uuid|.*[_ ]id|id_.*)|.*[a-z0-9]I[dD]")
MOST_NAMED, MOST_LISTED = 5, 50  # columns that an error names in a line, and on lines of their own

Override = Kind | str | Column | Mapping[str, Any]


def infer(
    frame: Any,
    overrides: Mapping[str, Override] | None = None,
    *,
    unsupported: Literal["error", "ignore"] = "error",
) -> Schema:
    """See `Schema.infer`."""
    if unsupported not in ("error", "ignore"):
        raise ValueError(f"unsupported should be 'error' or 'ignore'. Found {unsupported!r}.")
    overrides = {str(name): override for name, override in (overrides or {}).items()}
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
        except Unsuitable as error:
            if unsupported == "ignore":
                ignored[name] = _sentence(str(error))
            else:
                problems[name] = str(error)
        except ValueError as error:
            problems[name] = str(error)
    if problems:
        raise _complaint(problems, arrays=isinstance(frame, np.ndarray))
    if not found:
        raise ArgumentError("frame", "have a column to model", _all_ignored(ignored), NAME_KINDS)
    return Schema(tuple(found), ignored)


def _all_ignored(ignored: Mapping[str, str]) -> str:
    reasons = [f"{name!r} ({reason.rstrip('.')})" for name, reason in ignored.items()]
    return f"{len(ignored)}, all of them ignored: {_some(reasons)}"


def _some(items: list[str]) -> str:
    more = [f"and {len(items) - MOST_NAMED} more"] if len(items) > MOST_NAMED else []
    return ", ".join([*items[:MOST_NAMED], *more])


def _check_frame(frame: Any, columns: Mapping[str, Any], overrides: Mapping[str, Override]) -> None:
    if not columns or not n_rows(frame):
        raise ValueError(
            f"frame should have rows and columns. Found {n_rows(frame)} rows and {len(columns)} columns."
        )
    for name in overrides:
        if name not in columns:
            known = _some(list(columns))
            raise ArgumentError("overrides", f"name columns of the frame ({known})", repr(name))


def _complaint(problems: Mapping[str, str], *, arrays: bool) -> ArgumentError:
    """Everything that is wrong, a line for every column."""
    lines = [f"  column {name!r} {text}." for name, text in problems.items()]
    more = [f"  {len(lines) - MOST_LISTED} more columns."] if len(lines) > MOST_LISTED else []
    found = "\n".join(["otherwise:", *lines[:MOST_LISTED], *more])
    advice = f"\n{'Columns of an array are called x0, x1, ... by their place. ' if arrays else ''}{NAME_KINDS}"
    return ArgumentError("frame", "have columns that a model can describe", found.rstrip("."), advice)


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
    found, reason = _read(data)
    _check_informative(found)
    if found.sort == "number":
        _check_no_ids(name, native, found)
    column = _guess(name, found)
    return replace(column, reason=reason.format(column.reason)) if reason else column


def _read(data: Cells, what: What | None = None) -> tuple[Cells, str]:
    """Text that holds numbers or dates as these, and what becomes of the reason for the column's kind."""
    what = what or reading_of(data)
    if what is None:
        return data, ""
    found, words = parsed(data, what)
    n, of = int(found.observed.sum()), int(data.observed.sum())
    reason = "{}" if what == "numbers" else "Dates written as text, taken in days."
    return found, reason + (f" {_escaped(told(n, of, what, words))}." if words else "")


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _check_informative(data: Cells) -> None:
    if not data.observed.any():
        raise Unsuitable("is empty, all its cells are missing; drop it or pass unsupported='ignore'")
    first = data.seen[0]
    if (data.seen == first).all():
        raise Unsuitable(f"is constant, all its cells are {show(first)}; drop it or pass unsupported='ignore'")


def _check_no_ids(name: str, native: Any, data: Cells) -> None:
    n, smallest, largest = len(data.seen), data.seen.min(), data.seen.max()
    different = n >= FEWEST_IDS and len(np.unique(data.seen)) == n
    if not different or not (data.seen == np.floor(data.seen)).all():
        return
    if _is_integer(native) and data.observed.all() and smallest >= 0 and largest - smallest == n - 1:
        raise Unsuitable(
            f"holds every whole number from {show(smallest)} to {show(largest)} once, which look like the numbers "
            f"of the rows; {ADVICE}"
        )
    if ID_NAME.fullmatch(name):
        raise Unsuitable(f"holds {n} different whole numbers and is named like an id; {ADVICE}")


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
    return guess_categories(name, data)


def _guess_numbers(name: str, seen: NDArray[np.float64]) -> Column:
    distinct, smallest, largest = np.unique(seen), seen.min(), seen.max()
    between = f"from {show(smallest)} to {show(largest)}"
    if len(distinct) == 2:
        categories = levels(distinct)
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


def _as_told(name: str, data: Cells, fields: dict[str, Any]) -> Column:
    """A column of the kind that the user names, with the rest from the data."""
    kind = Kind(fields["kind"]) if "kind" in fields else _guess(name, _read(data)[0]).kind
    by_hand = f"Set to {kind} by hand."
    if kind.nominal:
        if data.sort == "time":
            raise ValueError(f"cannot be {kind}, it holds dates or durations; convert it to text")
        categories = {} if "categories" in fields else {"categories": levels_of(data)}
        return Column(name, **{"reason": by_hand, **fields, "kind": kind, **categories})
    if data.sort in ("text", "category", "mixed"):
        found, reason = _read(data, reading_of(data) or "numbers")
        if not found.observed.any():
            raise ValueError(f"cannot be {kind}, it holds categories such as {show(data.seen[0])}")
        data, by_hand = found, reason.format(by_hand)
    fields = {"reason": by_hand, **fields, "kind": kind}
    if data.sort == "time":
        fields.setdefault("unit", "days")
    _check_numbers(data.seen, kind, fields.get("zero_offset"))
    return Column(name, **fields)


def _check_numbers(seen: NDArray[np.float64], kind: Kind, zero_offset: object) -> None:
    if kind.whole:
        check_whole(seen)
    if kind.above_zero and zero_offset is None and seen.min() <= 0:
        raise ValueError(f"cannot be {kind}, it holds {show(seen.min())}; give it a zero_offset or make it real")


def check_whole(seen: NDArray[np.float64]) -> None:
    """Counts are whole numbers from zero."""
    wrong = seen[(seen < 0) | (seen != np.floor(seen))]
    if wrong.size:
        raise ValueError(f"cannot be a count, it holds {show(wrong[0])}; make it real or positive")
