"""A table of results: cells, and the forms it is written in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._latex import latex
from ._plain_text import markdown, text

HUGE = 1e6  # from here on, digits behind the point tell nothing


@dataclass(frozen=True)
class Cell:
    """A number in a table.

    Attributes:
        value: The number, by which readers sort; NaN is written as a dash.
        digits: Behind the decimal point.
        bold: Whether it stands out.
        std: Its standard deviation, written after it unless it is NaN.
        words: What is written instead of the number, if anything.
        signed: Whether it is a gain, which a page writes with its sign and in a colour.
    """

    value: float
    digits: int = 3
    bold: bool = False
    std: float = math.nan
    words: str = ""
    signed: bool = False

    def __str__(self) -> str:
        if self.words or math.isnan(self.value):
            return self.words or "-"
        spread = "" if math.isnan(self.std) else f" ± {_written(self.std, self.digits)}"
        return f"{_written(self.value, self.digits)}{spread}"


UNKNOWN = Cell(math.nan)
"""A number that nobody has measured."""

Line = Sequence[str | Cell]
"""A row of a table."""


@dataclass(frozen=True)
class Table:
    """A small table of texts and numbers.

    Attributes:
        title: What it shows.
        header: One or more rows of titles; equal titles side by side in all but the last row are one wide title.
        rows: The body; every row is as long as the header.
        notes: Sentences below it.
        n_labels: How many columns at the left are labels. They are aligned to the left, numbers to the right.
        breaks: Rows that a line is drawn above.
    """

    title: str
    header: Sequence[Sequence[str]]
    rows: Sequence[Line]
    notes: Sequence[str] = ()
    n_labels: int = 1
    breaks: Sequence[int] = ()

    def __post_init__(self) -> None:
        width = len(self.header[0])
        wrong = [row for row in [*self.header, *self.rows] if len(row) != width]
        if wrong:
            raise ValueError(f"All rows of a table should have {width} cells. Found {wrong[0]}.")

    def to_text(self) -> str:
        """Columns of equal width; what is bold has a star."""
        return text(self)

    def to_markdown(self) -> str:
        """A table in Markdown, with its title above it and its notes below."""
        return markdown(self)

    def to_latex(self, label: str = "") -> str:
        r"""A table environment for the packages booktabs and amssymb.

        Args:
            label: What ``\ref`` calls it; none by default.
        """
        return latex(self, label)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON can hold it, but for numbers that are not finite."""

        def cell(found: str | Cell) -> Any:
            return found if isinstance(found, str) else {"value": found.value, "std": found.std, "bold": found.bold}

        return {
            "title": self.title,
            "header": [list(row) for row in self.header],
            "rows": [[cell(found) for found in row] for row in self.rows],
            "notes": [*self.notes],
        }


def _written(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if abs(value) < HUGE else f"{value:.1e}"
