"""A progress bar for long trainings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Tick = Callable[[float, str], None]
"""What to call with the number of steps (or epochs) done since the last call, and with a few words."""


@contextmanager
def progress_bar(verbose: bool | Literal["auto"], total: float, done: int = 0) -> Iterator[Tick]:
    """Draw a bar on standard error if wanted; "auto" wants it on a terminal."""
    if not (sys.stderr.isatty() if verbose == "auto" else verbose):
        yield lambda steps, words: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:34}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("training", total=total, completed=done)
        yield lambda steps, words: bar.update(task, advance=steps, description=words)
