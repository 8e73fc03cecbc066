"""Tables as text and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._table import Cell, Table


def text(table: Table) -> str:
    """Columns of equal width; what is bold has a star."""
    starred = any(not isinstance(cell, str) and cell.bold for row in table.rows for cell in row)

    def show(cell: str | Cell) -> str:
        if isinstance(cell, str):
            return cell
        return f"{cell}{'*' if cell.bold else ' ' if starred else ''}"  # digits stay below each other

    header = [_once(row) for row in table.header[:-1]] + [list(table.header[-1])]
    lines = [*header, *([show(cell) for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "-" * (sum(widths) + 2 * len(widths) - 2)
    body = [_padded(line, widths, table.n_labels) for line in lines[len(header) :]]
    for place in reversed([i for i in table.breaks if 0 < i < len(body)]):
        body.insert(place, rule)
    above = [table.title, "", *(_padded(line, widths, table.n_labels) for line in header), rule]
    notes = [note.replace("Bold:", "Star:") for note in table.notes]
    return "\n".join([*above, *body, *(["", *notes] if notes else [])]) + "\n"


def markdown(table: Table) -> str:
    """A table in Markdown, with its title above it and its notes below."""
    titles = [" ".join(part for part in column if part) for column in zip(*table.header, strict=True)]
    rule = ["---" if i < table.n_labels else "---:" for i in range(len(titles))]
    rows = [[_in_markdown(cell) for cell in row] for row in table.rows]
    lines = [[_escape(title) for title in titles], rule, *rows]
    parts = [f"**{table.title}**", "\n".join("| " + " | ".join(line) + " |" for line in lines), *table.notes]
    return "\n\n".join(parts) + "\n"


def groups(row: Sequence[str]) -> list[tuple[str, int]]:
    """Equal titles side by side, with how many there are."""
    found: list[tuple[str, int]] = []
    for title in row:
        if found and found[-1][0] == title:
            found[-1] = (title, found[-1][1] + 1)
        else:
            found.append((title, 1))
    return found


def _once(row: Sequence[str]) -> list[str]:
    """Titles of groups, written above their first column only."""
    return [title for group, n in groups(row) for title in [group, *[""] * (n - 1)]]


def _padded(line: Sequence[str], widths: Sequence[int], n_labels: int) -> str:
    """Labels to the left, numbers to the right."""
    pairs = enumerate(zip(line, widths, strict=True))
    return "  ".join(t.ljust(w) if i < n_labels else t.rjust(w) for i, (t, w) in pairs).rstrip()


def _in_markdown(cell: str | Cell) -> str:
    written = _escape(str(cell))
    return f"**{written}**" if not isinstance(cell, str) and cell.bold else written


def _escape(content: str) -> str:
    return re.sub(r"[\\|*_`]|<(?! )", r"\\\g<0>", content).replace("\n", " ")
