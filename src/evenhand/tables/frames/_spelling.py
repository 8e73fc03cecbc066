"""New cells of a text file, spelled as the others of their column are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._numerals import Cells, has_decimal_comma, notation
from ._text_cells import FALSE, TRUE, date_notation

if TYPE_CHECKING:
    import pandas

Spell = Callable[[Any], str]


def new_cells(
    before: pandas.DataFrame, after: pandas.DataFrame, texts: pandas.DataFrame, *, decimal_comma: bool
) -> dict[int, dict[int, str]]:
    """What to write where two frames differ, by row and by column.

    Args:
        before: What was read from a file.
        after: The same rows and columns, with other cells in some places. A cell that went missing stays as it was.
        texts: The cells as they stand in the file.
        decimal_comma: Whether numbers may have one.
    """
    cells: dict[int, dict[int, str]] = {}
    there = {name: texts[name].str.strip()[before[name].notna().to_numpy()] for name in before}
    european = decimal_comma and any(has_decimal_comma(seen) for seen in there.values())
    for j, name in enumerate(before.columns):
        rows = _changed(before[name], after[name])
        if rows:
            # where nothing was seen, what came says what it is
            like = before[name] if len(there[name]) else after[name]
            spell = _spell(like, there[name], decimal_comma, european)
            for i, value in zip(rows, after[name].iloc[rows], strict=True):
                cells.setdefault(i, {})[j] = spell(value)
    return cells


def _changed(before: Cells, after: Cells) -> list[int]:
    """The rows in which a column holds something else."""
    old, new = before.isna().to_numpy(), after.notna().to_numpy()
    differs = old & new
    both = ~old & new
    # as objects, since the categories of two columns need not be the same
    differs[both] = before.astype(object).to_numpy()[both] != after.astype(object).to_numpy()[both]
    return [int(i) for i in differs.nonzero()[0]]


def _spell(read: Cells, seen: Cells, decimal_comma: bool, european: bool) -> Spell:
    from pandas.api import types

    if types.is_bool_dtype(read.dtype):
        styles = enumerate(zip(TRUE, FALSE, strict=True))
        style = next((s for s, words in styles if seen.head(1).isin(words).any()), 0)
        return lambda value: (TRUE if value else FALSE)[style]
    if types.is_numeric_dtype(read.dtype):
        return notation(seen, decimal_comma, european).spell
    if types.is_datetime64_any_dtype(read.dtype) and len(seen):
        return date_notation(seen)
    return str
