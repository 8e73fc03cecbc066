"""Parquet files that are longer than memory: some of their rows, and their holes filled part by part."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common import ArgumentError, check_integer, whole_file

if TYPE_CHECKING:
    import pyarrow

PART = 50_000  # rows that are in memory at a time


def sample_parquet(path: str | Path, n: int, seed: int = 0) -> pyarrow.Table:
    """Rows of a Parquet file, drawn at random and in its order; the others are passed over part by part.

    Args:
        path: The file.
        n: How many; all of them if the file has no more.
        seed: For the draw.
    """
    check_integer("n", n)
    arrow, file = importlib.import_module("pyarrow"), _opened(path)
    total = file.metadata.num_rows
    chosen = np.arange(total)
    if n < total:
        chosen = np.sort(np.random.default_rng(seed).choice(total, n, replace=False, shuffle=False))
    parts, start = [], 0
    for batch in file.iter_batches(PART):
        first, last = np.searchsorted(chosen, [start, start + batch.num_rows])
        parts.append(batch.take(arrow.array(chosen[first:last] - start)))
        start += batch.num_rows
    return arrow.Table.from_batches(parts, schema=file.schema_arrow).combine_chunks()


def fill_parquet(source: str | Path, target: str | Path, fill: Callable[[Any], Any]) -> int:
    """Fill the holes of a Parquet file part by part, and write another with the same columns and types.

    Cells that are there stay as they are, those of categories that the model has never seen among them. A file that
    is there already is replaced when the new one is complete.

    Args:
        source: The file to read.
        target: The file to write; it may be the same.
        fill: What fills a table of pyarrow, such as ``TabularVAE.transform``.

    Returns:
        How many cells were filled.
    """
    arrow, parquet, file = (*map(importlib.import_module, ("pyarrow", "pyarrow.parquet")), _opened(source))
    if Path(target).suffix.lower() != ".parquet":
        raise ArgumentError("target", "end in .parquet", repr(Path(target).name))
    schema, filled = file.schema_arrow, 0
    with whole_file(Path(target)) as partial, ExitStack() as opened:
        writer = None
        for batch in file.iter_batches(PART):
            before = arrow.Table.from_batches([batch], schema=schema)
            after = fill(before)
            if writer is None:
                written = _with_types(schema, after)
                writer = opened.enter_context(parquet.ParquetWriter(partial, written))
            columns = [_holes_alone(before[f.name].cast(f.type), after[f.name]) for f in written]
            filled += sum(number for _, number in columns)
            writer.write_table(arrow.Table.from_arrays([column for column, _ in columns], schema=written))
        if writer is None:  # without a row
            opened.enter_context(parquet.ParquetWriter(partial, schema))
    return filled


def _with_types(schema: Any, filled: Any) -> Any:
    """The schema, where columns without any cell, and so without a type, have that of what they are filled with."""
    arrow = importlib.import_module("pyarrow")
    fields = [f.with_type(filled[f.name].type) if arrow.types.is_null(f.type) else f for f in schema]
    return arrow.schema(fields, schema.metadata)


def _holes_alone(before: Any, after: Any) -> tuple[Any, int]:
    """A column whose holes alone are filled, and how many were."""
    arrow, compute = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
    gaps = compute.is_null(before, nan_is_null=True)
    number = int(compute.sum(gaps).as_py() or 0) - int(compute.sum(compute.is_null(after, nan_is_null=True)).as_py())
    if not number:
        return before, 0
    plain = before.type.value_type if arrow.types.is_dictionary(before.type) else before.type
    if arrow.types.is_integer(plain) and arrow.types.is_floating(after.type):
        after = compute.round(after)  # a model that has learnt floats
    merged = compute.if_else(gaps, after.cast(plain), before.cast(plain))
    return (merged if plain == before.type else merged.dictionary_encode().cast(before.type)), number


def _opened(path: str | Path) -> Any:
    path = Path(path)
    if path.suffix.lower() != ".parquet":
        raise ArgumentError("path", "end in .parquet", repr(path.name), "Read other files with read_file.")
    if not path.is_file():
        raise FileNotFoundError(f"path should be a file that exists. Found none at {path}.")
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("files need pyarrow: pip install 'evenhand[data]'") from error
    arrow = importlib.import_module("pyarrow")
    try:
        return parquet.ParquetFile(path)
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"{path} should be a Parquet file. Found one that is damaged ({error}).") from error
