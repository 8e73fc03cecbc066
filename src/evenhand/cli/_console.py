"""What the command line says, and where: results on standard output, everything else on standard error.

Names of columns and categories come from strangers' files. They are printed as plain text, never as markup, and
without characters that could steer a terminal.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import typer

DEBUG = "EVENHAND_DEBUG"
NARROWEST = 24  # characters that a wrapped column has at least
EXPECTED = (ValueError, OSError, ImportError, RuntimeError, ArithmeticError, MemoryError, NotImplementedError)


SET = "evenhand schema DATA --set column=kind"
AT_A_SHELL = {  # what to do in Python, and what to type
    r"Name the kind of one in overrides\.": f"Name the kind of one: {SET}",
    r"Give \{.*\}, or infer the schema with overrides\.": f"Begin with the table: {SET}",
}


class BadArgumentError(ValueError):
    """What was typed makes no sense; nothing was done."""


@dataclass
class Console:
    """Where verbs print to.

    Attributes:
        quiet: Whether nothing is printed but errors.
        json: Whether the result is printed as JSON, and nothing else.
        command: What was typed.
        resumes: Whether the same command goes on where it was interrupted.
    """

    quiet: bool = False
    json: bool = False
    command: str = "evenhand"
    resumes: bool = False

    @property
    def human(self) -> bool:
        """Whether somebody reads."""
        return not (self.quiet or self.json)

    @property
    def bars(self) -> Literal["auto", False]:
        """Whether progress bars are wanted; "auto" draws them on a terminal only."""
        return False if self.quiet else "auto"

    def say(self, text: str = "") -> None:
        """Print lines for a reader."""
        if self.human:
            typer.echo("\n".join(map(clean, text.split("\n"))))

    def heading(self, text: str) -> None:
        """Print a title, after an empty line."""
        if self.human:
            typer.echo()
            typer.secho(clean(text), bold=True)

    def note(self, text: str) -> None:
        """Print a line beside the result."""
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


@contextmanager
def failures(console: Console) -> Iterator[None]:
    """Turn errors into a line and an exit code: 1 the work failed, 2 bad arguments, 130 interrupted."""
    try:
        with _warnings(console):
            yield
    except (typer.Exit, typer.Abort, BrokenPipeError):  # no errors of ours; who reads us may stop reading
        raise
    except KeyboardInterrupt:
        advice = f" To go on from there: {console.command}" if console.resumes else ""
        typer.echo(clean(f"Interrupted.{advice}"), err=True)
        raise typer.Exit(130) from None
    except BadArgumentError as error:
        _complain(error, str(error))
        raise typer.Exit(2) from error
    except EXPECTED as error:
        _complain(error, _words(error))
        raise typer.Exit(1) from error
    except Exception as error:
        if hasattr(error, "format_message"):  # typer has words for it
            raise
        _complain(error, f"{type(error).__name__}: {error}. This should not happen; {DEBUG}=1 shows where it did.")
        raise typer.Exit(1) from error


@contextmanager
def arguments() -> Iterator[None]:
    """What fails in here was typed wrongly."""
    try:
        yield
    except (ValueError, FileNotFoundError) as error:
        raise BadArgumentError(str(error)) from error


def _words(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and str(error).startswith("No module named"):
        return f"this needs the package {error.name}: pip install 'evenhand[experiments]'"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _complain(error: BaseException, words: str) -> None:
    for advice, command in AT_A_SHELL.items():
        words = re.sub(advice, command, words)
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exception(error)
    typer.echo("\n".join(map(clean, f"Error: {words}".split("\n"))), err=True)


@contextmanager
def _warnings(console: Console) -> Iterator[None]:
    """Python's warnings, as one line each."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        console.note(f"Warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = show
        yield
