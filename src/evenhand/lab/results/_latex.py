"""Tables as LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._plain_text import groups

if TYPE_CHECKING:
    from ._table import Cell, Table

_SIGNS = {
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


def latex(table: Table, label: str = "") -> str:
    """A table environment for the packages booktabs and amssymb."""
    columns = "l" * table.n_labels + "r" * (len(table.header[0]) - table.n_labels)
    lines = [_wide_titles(row) for row in table.header[:-1]]
    lines += [" & ".join(map(escape_latex, table.header[-1])), r"\midrule"]
    for i, row in enumerate(table.rows):
        lines += [r"\midrule"] if i and i in table.breaks else []
        lines.append(" & ".join(map(_in_latex, row)))
    body = [f"    {line}" if line == r"\midrule" else rf"    {line} \\" for line in lines]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escape_latex(table.title)}}}",
            *([rf"  \label{{{label}}}"] if label else []),
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}",
            *(rf"  \par\smallskip {{\small {escape_latex(note)}}}" for note in table.notes),
            r"\end{table}",
            "",
        ]
    )


def escape_latex(content: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_SIGNS.get(character, character) for character in content)


def _in_latex(cell: str | Cell) -> str:
    """A cell, in which a hyphen is a dash or a minus."""
    if isinstance(cell, str):
        return escape_latex(cell)
    written = "--" if math.isnan(cell.value) else escape_latex(str(cell)).replace("-", "$-$")
    return rf"\textbf{{{written}}}" if cell.bold else written


def _wide_titles(row: Sequence[str]) -> str:
    parts = []
    for title, n in groups(row):
        parts += [""] * n if not title else [rf"\multicolumn{{{n}}}{{c}}{{{escape_latex(title)}}}"]
    return " & ".join(parts)
