"""A table of results as HTML: in a box that scrolls, in an order that readers can change."""
# signs as readers know them: − – ×

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..figures import number
from ..results import Cell, Line, Table


@dataclass(frozen=True)
class Column:
    """How the page shows a column.

    Attributes:
        title: Its head.
        words: Whether it holds words, not numbers.
        short: Whether these are so short that they need not be wrapped.
        down: Whether its numbers are sorted from the largest down at first.
    """

    title: str
    words: bool = False
    short: bool = False
    down: bool = False


@dataclass(frozen=True)
class HtmlCell:
    """What the template writes: the text, its class, and what it is sorted by."""

    text: str
    class_: str = ""
    value: float | None = None


@dataclass(frozen=True)
class HtmlTable:
    """A table, and how the page shows it.

    Attributes:
        table: Its title is the label of its box, its note the caption.
        columns: For every column of the table, how it is shown.
        classes: The class of every row; none if empty.
        by: Which column the rows are sorted by.
        sorted: And how.
        sortable: Whether readers may sort it.
    """

    table: Table
    columns: Sequence[Column]
    classes: Sequence[str] = ()
    by: int = -1
    sorted: Literal["ascending", "descending"] = "ascending"
    sortable: bool = True

    @property
    def rows(self) -> list[tuple[str, list[HtmlCell]]]:
        """The class and the cells of every row; the first cell names it."""
        classes = self.classes or [""] * len(self.table.rows)
        return [
            (class_, [_html(cell, column) for cell, column in zip(row, self.columns, strict=True)])
            for class_, row in zip(classes, self.table.rows, strict=True)
        ]


def html_table(
    title: str, caption: str, columns: Sequence[Column], rows: Sequence[Line], classes: Sequence[str] = ()
) -> HtmlTable:
    """A table of the page; readers may sort it if it has several rows.

    Args:
        title: A few words, for the label of the box in which it scrolls.
        caption: What stands above it.
        columns: How its columns are shown.
        rows: The body.
        classes: The class of every row; none if empty.
    """
    n_labels = next((i for i, column in enumerate(columns) if not column.words), len(columns))
    table = Table(title, [[column.title for column in columns]], rows, [caption], n_labels)
    return HtmlTable(table, columns, classes)


def _html(cell: str | Cell, column: Column) -> HtmlCell:
    if isinstance(cell, str):
        return HtmlCell(cell, "words short" if column.short else "words" if column.words else "")
    value = cell.value if math.isfinite(cell.value) else None
    return HtmlCell(_written(cell), _class(cell), value)


def _written(cell: Cell) -> str:
    """A number for readers, with its sign if it is a gain, and with its deviation if that is known."""
    sign = "+" if cell.signed and math.isfinite(cell.value) and cell.value > 0 else ""
    spread = f" ± {number(cell.std, cell.digits)}" if math.isfinite(cell.std) else ""
    return cell.words or f"{sign}{number(cell.value, cell.digits)}{spread}"


def _class(cell: Cell) -> str:
    if cell.signed and math.isfinite(cell.value) and cell.value:
        return "better" if cell.value > 0 else "worse"
    return "bold" if cell.bold else ""
