"""Mistakes and failures: what is said of them, in words of the shell, and the exit code."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from ..common import ArgumentError
from ._console import Console, clean

DEBUG = "EVENHAND_DEBUG"
EXPECTED = (ValueError, OSError, ImportError, RuntimeError, ArithmeticError, MemoryError, NotImplementedError)


class BadArgumentError(ValueError):
    """What was typed makes no sense; nothing was done.

    Args:
        mistake: What is wrong, such as an `ArgumentError`.
    """

    def __init__(self, mistake: Exception) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


def refusal(argument: str, expected: str, found: str, advice: str = "") -> BadArgumentError:
    """What to raise if an argument is not what it should be; the words are those of `ArgumentError`."""
    return BadArgumentError(ArgumentError(argument, expected, found, advice))


@contextmanager
def arguments(**options: str) -> Iterator[None]:
    """What fails in here was typed wrongly; `options` are what the shell calls arguments of Python's."""
    try:
        yield
    except BadArgumentError:
        raise
    except ArgumentError as error:
        raise BadArgumentError(error.about(options.get(error.argument, error.argument))) from error
    except (ValueError, FileNotFoundError) as error:
        raise BadArgumentError(error) from error


@contextmanager
def advising(advice: Mapping[str, str], **options: str) -> Iterator[None]:
    """Where something is wrong with one of these arguments, say what to type, not what to write in Python.

    Args:
        advice: What to type, by argument.
        options: What the shell calls them.
    """
    try:
        yield
    except ArgumentError as error:
        if error.argument not in advice:
            raise
        name = options.get(error.argument, error.argument)
        raise error.advised(advice[error.argument]).about(name) from error


@contextmanager
def failures(console: Console) -> Iterator[None]:
    """Turn errors into a line and an exit code: 1 the work failed, 2 bad arguments, 130 interrupted."""
    try:
        with _warnings(console):
            yield
    except (typer.Exit, typer.Abort, BrokenPipeError):  # no errors of ours; who reads us may stop reading
        raise
    except KeyboardInterrupt:
        typer.echo(clean(f"Interrupted. {console.interrupted()}".strip()), err=True)
        raise typer.Exit(130) from None
    except BadArgumentError as error:
        _complain(error, _words(error.mistake))
        raise typer.Exit(2) from error
    except EXPECTED as error:
        _complain(error, _words(error))
        raise typer.Exit(1) from error
    except Exception as error:
        if hasattr(error, "format_message"):  # typer has words for it
            raise
        _complain(error, f"{type(error).__name__}: {error}. This should not happen; {DEBUG}=1 shows where it did.")
        raise typer.Exit(1) from error


def _words(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and str(error).startswith("No module named"):
        return f"this needs the package {error.name}: pip install 'evenhand[experiments]'"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _complain(error: BaseException, words: str) -> None:
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
