"""A data set that has been loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..tables.schema import Column, Schema
from ._catalogue import CATALOGUE

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Dataset:
    """A public data set with its schema.

    Attributes:
        name: The name by which it is loaded.
        frame: The columns of the schema, in order.
        schema: The kinds as the paper has them.
        source: Where the data come from.
        licence: Under which terms.
        note: What is unlike the paper's table, if anything.
    """

    name: str
    frame: pandas.DataFrame
    schema: Schema
    source: str
    licence: str
    note: str = ""


def dataset(
    name: str, frame: pandas.DataFrame, columns: list[Column], *, rows: int | None = None, note: str = ""
) -> Dataset:
    """The data set with the columns of its schema, and a last look at its size.

    Args:
        name: Its name in the catalogue, which has its source and its licence.
        frame: What was read.
        columns: The schema.
        rows: How many there should be, if not as many as the catalogue says.
        note: What is unlike the paper's table, if anything.
    """
    entry = CATALOGUE[name]
    rows = entry.rows if rows is None else rows
    schema = Schema(tuple(columns))
    absent = [column for column in schema.names if column not in frame.columns]
    if absent or len(frame) != rows:
        raise ValueError(
            f"{name} should have {rows} rows and the columns {', '.join(schema.names)}. Found {len(frame)} rows"
            + (f" and no {', '.join(absent)}." if absent else ".")
        )
    found = frame[list(schema.names)].reset_index(drop=True)
    return Dataset(name, found, schema, entry.source, entry.licence, note)
