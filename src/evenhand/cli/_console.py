"""What the command line prints, and where: results on standard output, everything else on standard error.

Names of columns and categories come from untrusted files. They are printed as plain text, never as markup, and
without characters that could steer a terminal.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import typer

from ..common import Heartbeat

NARROWEST = 24  # characters that a wrapped column has at least


@dataclass
class Console:
    """Where verbs print to.

    Attributes:
        quiet: Whether nothing is printed but errors.
        json: Whether the result is printed as JSON, and nothing else.
        command: What was typed.
        interrupted: What is true, and what to type, when the work is interrupted now.
    """

    quiet: bool = False
    json: bool = False
    command: str = "evenhand"
    interrupted: Callable[[], str] = lambda: ""
    _doing: str = "starting"
    _heart: Heartbeat | None = None

    @property
    def human(self) -> bool:
        """Whether somebody reads."""
        return not (self.quiet or self.json)

    @property
    def bars(self) -> Literal["auto", False]:
        """Whether progress bars are wanted; "auto" draws them on a terminal only."""
        return False if self.quiet else "auto"

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Say on standard error what is being done wherever nothing else is said for a while."""
        with Heartbeat(lambda: "" if self.quiet else f"{self._doing} ...") as self._heart:
            yield

    def begin(self, doing: str) -> None:
        """What is being done from now on."""
        self._doing = clean(doing)
        self._rest()

    def _rest(self) -> None:
        if self._heart is not None:
            self._heart.rest()

    def say(self, text: str = "") -> None:
        """Print lines for a reader."""
        self._rest()
        if self.human:
            typer.echo("\n".join(map(clean, text.split("\n"))))

    def heading(self, text: str) -> None:
        """Print a title, after an empty line."""
        if self.human:
            typer.echo()
            typer.secho(clean(text), bold=True)

    def note(self, text: str) -> None:
        """Print a line beside the result."""
        self._rest()
        if not self.quiet:
            typer.echo(clean(text), err=True)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> None:
        """Print a table; the columns in `numbers` are aligned to the right, on a terminal the last one is wrapped."""
        if self.human:
            typer.echo("\n".join(table_lines(header, rows, numbers, _width())))

    def result(self, document: Any) -> None:
        """Print what a program reads."""
        if self.json:
            typer.echo(json.dumps(finite(document), indent=2, ensure_ascii=False, allow_nan=False, default=str))


def clean(text: str) -> str:
    """One line without control characters."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def number(value: float, digits: int = 3) -> str:
    """A number in a table; a dash if there is none."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.{digits}f}" if abs(value) < 1e5 else f"{value:.2e}"


def finite(document: Any) -> Any:
    """A document that JSON can hold: numbers that are not finite are null."""
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    if isinstance(document, Mapping):
        return {str(key): finite(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [finite(value) for value in document]
    return document


def table_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), width: int | None = None
) -> list[str]:
    """The lines of a table."""
    from rich.cells import cell_len  # letters may be two places wide

    lines = [[clean(cell) for cell in row] for row in [header, *rows]]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*lines, strict=True)]
    last = len(widths) - 1

    def pad(cell: str, i: int) -> str:
        space = " " * (widths[i] - cell_len(cell))
        return space + cell if i in numbers else cell + space

    indent = sum(widths[:last]) + 2 * last
    found = []
    for row in lines:
        wrapped = [row[last]]
        if width is not None and last not in numbers:
            wrapped = textwrap.wrap(row[last], max(NARROWEST, width - indent)) or [""]
        start = "".join(f"{pad(cell, i)}  " for i, cell in enumerate(row[:last]))
        found.append((start + (pad(wrapped[0], last) if last in numbers else wrapped[0])).rstrip())
        found += [" " * indent + more for more in wrapped[1:]]
    return found


def _width() -> int | None:
    """Of the terminal, if there is one."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
