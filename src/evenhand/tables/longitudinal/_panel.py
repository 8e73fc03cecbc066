"""From a frame to histories, and back: which column says who, which says when, and what the others hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ...common import ArgumentError
from ..cells import columns_of, is_missing
from ..frames import RawTable, check_extremes, read
from ..schema import Schema
from ._histories import Array, visits_of

SELDOM = "Such a row belongs to no history: drop it, or say what is missing."


@dataclass(frozen=True, eq=False)
class Panel:
    """The rows of a frame, and how they belong together.

    Attributes:
        table: The cells of the columns that are modelled.
        times: The time of every row, in days where it is a date.
        visits: The rows of every history in the order of time.
    """

    table: RawTable
    times: Array
    visits: list[NDArray[np.intp]]


def find_schemas(
    frame: Any,
    who: str,
    when: str,
    schema: Schema | Mapping[str, Any] | None,
    unsupported: Literal["error", "ignore"],
) -> tuple[Schema, Schema]:
    """The schema of what is modelled, and that of the time alone.

    Args:
        frame: A DataFrame.
        who: The column of ids.
        when: The column of times.
        schema: What the user knows of the columns, or all of it.
        unsupported: What happens to columns without a use.
    """
    columns = columns_of(frame)
    _check_columns(columns, who, when)
    others = {name: "ignore" for name in columns if name != when}
    try:
        clock = Schema.infer(frame, {**others, when: "real"})
    except ArgumentError as error:
        raise ArgumentError("time", "be a column of numbers or dates that differ", repr(when), str(error)) from error
    if isinstance(schema, Schema):
        named = [name for name in (who, when) if name in schema]
        if named:
            raise ArgumentError("schema", "ignore the columns of id and time", f"{named[0]!r} among its columns")
        return to_learn(schema, who, when), clock
    overrides = {**(schema or {}), who: "ignore", when: "ignore"}
    with _in_words_of_users():
        return to_learn(Schema.infer(frame, overrides, unsupported=unsupported), who, when), clock


def to_learn(schema: Schema, who: str, when: str) -> Schema:
    """The schema without the columns of id and time, which are not modelled."""
    both = {who: "It says whose a row is.", when: "It says when."}
    return Schema(tuple(column for column in schema if column.name not in both), {**schema.ignored, **both})


def read_panel(frame: Any, who: str, when: str, schema: Schema, clock: Schema, *, unseen: Any = "error") -> Panel:
    """The cells of a frame, and its histories."""
    columns = columns_of(frame)
    _check_columns(columns, who, when)
    with _in_words_of_users():
        table = read(frame, schema, unseen=unseen)
    check_extremes(table, schema)
    ids = nw.from_native(columns[who], series_only=True).to_list()
    _check_known(who, np.array([not is_missing(name) for name in ids]))
    moments = read(frame, clock)
    _check_known(when, moments.observed[:, 0])
    times = moments.values[:, 0]
    visits = visits_of(ids, times)
    _check_distinct(visits, times, ids, when)
    return Panel(table, times, visits)


@contextmanager
def _in_words_of_users() -> Iterator[None]:
    """Mistakes in what others call frame and overrides are mistakes in X and schema."""
    try:
        yield
    except ArgumentError as error:
        names = {"frame": "X", "overrides": "schema"}
        raise error.about(names.get(error.argument, error.argument)) from error


def check_frame(frame: Any) -> None:
    """Refuse what has no columns with names, and no rows."""
    if isinstance(frame, np.ndarray) or not nw.dependencies.is_into_dataframe(frame):
        advice = "Histories are found by the names of columns."
        raise ArgumentError("X", "be a pandas or polars DataFrame or a pyarrow Table", type(frame).__name__, advice)
    if not frame.shape[0]:
        raise ArgumentError("X", "have rows", "none")


def _check_columns(columns: Mapping[str, Any], who: str, when: str) -> None:
    for argument, name in (("id", who), ("time", when)):
        if name not in columns:
            shown = ", ".join(map(repr, list(columns)[:10]))
            raise ArgumentError(argument, f"name a column of X ({shown})", repr(name))


def _check_known(name: str, known: NDArray[np.bool_]) -> None:
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise ArgumentError(f"X[{name!r}]", "have no missing cell", f"one in row {row}", SELDOM)


def _check_distinct(visits: list[NDArray[np.intp]], times: Array, ids: list[Any], when: str) -> None:
    for rows in visits:
        same = np.flatnonzero(np.diff(times[rows]) == 0)
        if same.size:
            found = f"two visits of {ids[rows[0]]!r} in rows {rows[same[0]]} and {rows[same[0] + 1]}"
            raise ArgumentError(f"X[{when!r}]", "differ within a history", found, "Merge them, or drop one.")
