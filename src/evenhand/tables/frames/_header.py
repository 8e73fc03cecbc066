"""Whether the first line of a file holds names, or data already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..written import CLOCK, ISO
from ._numerals import POINT, all_match
from ._text_cells import DAY_OR_MONTH, MARKERS

if TYPE_CHECKING:
    import pandas

NUMBER, DATE = POINT, rf"{ISO}|{DAY_OR_MONTH}(?: {CLOCK})?"
FIRST_YEAR, LAST_YEAR = 1800, 2200


def is_data(first: Sequence[str], below: pandas.DataFrame) -> bool:
    """Whether every cell of the first line fits those below it.

    A number above numbers, a date above dates, and above texts one of them. Columns may be named by numbers, though:
    whole numbers with equal steps, as 0, 1, 2, and years that rise, are names if there are no other columns.

    Args:
        first: The cells of the first line.
        below: All other lines, as text.
    """
    found: list[str] = []
    for cell, name in zip(first, below, strict=True):
        what = _fits(cell.strip(), below[name].str.strip())
        if what == "nothing":
            return False
        found.append(what)
    numbers = [float(cell) for cell, what in zip(first, found, strict=True) if what == "number"]
    others = any(what in ("date", "text") for what in found)
    return others or bool(numbers and not _are_names(numbers))


def are_numbers(names: Sequence[str]) -> bool:
    """Whether most names are numbers, which is odd."""
    return sum(re.fullmatch(NUMBER, name) is not None for name in names) > len(names) / 2


def _fits(cell: str, below: Any) -> str:
    """What the cell and those below it are alike, "nothing" if they differ, "either" if this cannot be told."""
    seen = below[~below.isin(("", *MARKERS))]
    if not cell or not len(seen):
        return "either"
    for what, pattern in (("number", NUMBER), ("date", DATE)):
        if all_match(seen, pattern):
            return what if re.fullmatch(pattern, cell) else "nothing"
    return "text" if (seen == cell).any() else "nothing"


def _are_names(numbers: list[float]) -> bool:
    steps = {after - before for before, after in pairwise(numbers)}
    if not all(number.is_integer() for number in numbers) or 0 in steps:
        return False
    years = min(steps, default=0) > 0 and numbers[0] >= FIRST_YEAR and numbers[-1] <= LAST_YEAR
    return years or steps == {1.0} or (len(steps) == 1 and len(numbers) > 2)
