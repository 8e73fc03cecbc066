"""A table of results, and its three forms: text, Markdown, LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ._score_tables import Cell as Score
from ._score_tables import Row

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "[": "{[}",  # after the end of a row, a bracket or a star would be an option
    "]": "{]}",
    "*": "{*}",
    "α": r"$\alpha$",  # noqa: RUF001
    "±": r"$\pm$",
    "✓": r"$\checkmark$",
    "\n": " ",
}


HUGE = 1e6  # from here on, digits behind the point tell nothing


@dataclass(frozen=True)
class Cell:
    """A number in a table.

    Attributes:
        value: The number; NaN is written as a dash.
        digits: Behind the decimal point.
        bold: Whether it stands out.
        std: Its standard deviation, written after it unless it is NaN.
    """

    value: float
    digits: int = 3
    bold: bool = False
    std: float = math.nan

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "-"
        spread = "" if math.isnan(self.std) else f" ± {_written(self.std, self.digits)}"
        return f"{_written(self.value, self.digits)}{spread}"


def _written(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if abs(value) < HUGE else f"{value:.1e}"


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
    rows: Sequence[Sequence[str | Cell]]
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
        starred = any(isinstance(cell, Cell) and cell.bold for row in self.rows for cell in row)

        def show(cell: str | Cell) -> str:
            if isinstance(cell, str):
                return cell
            return f"{cell}{'*' if cell.bold else ' ' if starred else ''}"  # digits stay below each other

        header = [_once(row) for row in self.header[:-1]] + [list(self.header[-1])]
        lines = [*header, *([show(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rule = "-" * (sum(widths) + 2 * len(widths) - 2)
        body = [self._padded(line, widths) for line in lines[len(header) :]]
        for place in reversed([i for i in self.breaks if 0 < i < len(body)]):
            body.insert(place, rule)
        above = [self.title, "", *(self._padded(line, widths) for line in header), rule]
        notes = [note.replace("Bold:", "Star:") for note in self.notes]
        return "\n".join([*above, *body, *(["", *notes] if notes else [])]) + "\n"

    def to_markdown(self) -> str:
        """A table in Markdown, with its title above it and its notes below."""
        titles = [" ".join(part for part in column if part) for column in zip(*self.header, strict=True)]
        rule = ["---" if i < self.n_labels else "---:" for i in range(len(titles))]
        rows = [[_marked(cell, _escape_markdown, "**{}**") for cell in row] for row in self.rows]
        lines = [[_escape_markdown(title) for title in titles], rule, *rows]
        parts = [f"**{self.title}**", "\n".join("| " + " | ".join(line) + " |" for line in lines), *self.notes]
        return "\n\n".join(parts) + "\n"

    def to_latex(self, label: str = "") -> str:
        r"""A table environment for the packages booktabs and amssymb.

        Args:
            label: What ``\ref`` calls it; none by default.
        """
        columns = "l" * self.n_labels + "r" * (len(self.header[0]) - self.n_labels)
        lines = [_latex_groups(row) for row in self.header[:-1]]
        lines += [" & ".join(map(escape_latex, self.header[-1])), r"\midrule"]
        for i, row in enumerate(self.rows):
            lines += [r"\midrule"] if i and i in self.breaks else []
            lines.append(" & ".join(_marked(cell, escape_latex, r"\textbf{{{}}}") for cell in row))
        body = [f"    {line}" if line == r"\midrule" else rf"    {line} \\" for line in lines]
        return "\n".join(
            [
                r"\begin{table}",
                r"  \centering",
                rf"  \caption{{{escape_latex(self.title)}}}",
                *([rf"  \label{{{label}}}"] if label else []),
                rf"  \begin{{tabular}}{{{columns}}}",
                r"    \toprule",
                *body,
                r"    \bottomrule",
                r"  \end{tabular}",
                *(rf"  \par\smallskip {{\small {escape_latex(note)}}}" for note in self.notes),
                r"\end{table}",
                "",
            ]
        )

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

    def _padded(self, line: Sequence[str], widths: Sequence[int]) -> str:
        pairs = enumerate(zip(line, widths, strict=True))
        return "  ".join(t.ljust(w) if i < self.n_labels else t.rjust(w) for i, (t, w) in pairs).rstrip()


def from_rows(
    title: str, rows: Sequence[Row], *, notes: Sequence[str] = (), std: bool = False, digits: int = 2
) -> Table:
    """A table of the rows that `evenhand.lab` makes of multimodal scores.

    Args:
        title: What it shows.
        rows: From `coherence_table` and its like; a model is named where it changes.
        notes: Sentences below it.
        std: Whether to write standard deviations.
        digits: Behind the decimal point.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row if name not in ("model", "method")))
    body: list[list[str | Cell]] = []
    breaks = []
    for i, row in enumerate(rows):
        same = i > 0 and rows[i - 1]["model"] == row["model"]
        breaks += [] if same else [i]
        cells = [_number(row.get(name), std, digits) for name in columns]
        body.append(["" if same else str(row["model"]), str(row["method"]), *cells])
    return Table(title, [["", "", *columns]], body, notes, n_labels=2, breaks=breaks)


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in text)


def _number(cell: str | Score | None, std: bool, digits: int) -> str | Cell:
    if isinstance(cell, str):
        return cell
    if cell is None:
        return Cell(math.nan)
    return Cell(cell.mean, digits, cell.bold, cell.std if std else math.nan)


def _marked(cell: str | Cell, escape: Callable[[str], str], bold: str) -> str:
    if isinstance(cell, str):
        return escape(cell)
    text = escape(str(cell))
    if escape is escape_latex:  # a dash or a minus, not a hyphen
        text = "--" if math.isnan(cell.value) else text.replace("-", "$-$")
    return bold.format(text) if cell.bold else text


def _escape_markdown(text: str) -> str:
    return re.sub(r"[\\|*_`]|<(?! )", r"\\\g<0>", text).replace("\n", " ")


def _groups(row: Sequence[str]) -> list[tuple[str, int]]:
    """Equal titles side by side, with how many there are."""
    groups: list[tuple[str, int]] = []
    for title in row:
        if groups and groups[-1][0] == title:
            groups[-1] = (title, groups[-1][1] + 1)
        else:
            groups.append((title, 1))
    return groups


def _once(row: Sequence[str]) -> list[str]:
    """Titles of groups, written above their first column only."""
    return [text for title, n in _groups(row) for text in [title, *[""] * (n - 1)]]


def _latex_groups(row: Sequence[str]) -> str:
    parts = []
    for title, n in _groups(row):
        parts += [""] * n if not title else [rf"\multicolumn{{{n}}}{{c}}{{{escape_latex(title)}}}"]
    return " & ".join(parts)
