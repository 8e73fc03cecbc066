"""How far a long training is: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from ._heartbeat import Heartbeat, duration

Tick = Callable[[float, str], None]
"""What to call with the number of steps (or epochs) done since the last call, and with a few words."""


@contextmanager
def progress_bar(verbose: bool | Literal["auto"], total: float, done: int = 0) -> Iterator[Tick]:
    """Say on standard error how far a training is, if wanted.

    On a terminal a bar is drawn. Elsewhere, in a file, a pipe or a notebook, a line is printed within two seconds and
    then at growing intervals: what, how far, and how long it may still take. Work that is done sooner says nothing.

    Args:
        verbose: Whether anything is said; "auto" and True are the same.
        total: How many steps (or epochs) there are.
        done: How many were done before.
    """
    if not verbose:
        yield lambda steps, words: None
    elif sys.stderr.isatty():
        with _bar(total, done) as tick:
            yield tick
    else:
        lines = _Lines(total, done)
        with Heartbeat(lines.words):
            yield lines.tick


@contextmanager
def _bar(total: float, done: int) -> Iterator[Tick]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:34}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Heartbeat(lambda: ""), Progress(*columns, console=Console(stderr=True)) as bar:  # lines would tear it
        task = bar.add_task("training", total=total, completed=done)
        yield lambda steps, words: bar.update(task, advance=steps, description=words)


class _Lines:
    """How far a training is, in words."""

    def __init__(self, total: float, done: float) -> None:
        self._total, self._before, self._done = total, done, done
        self._started, self._said = time.monotonic(), ""

    def tick(self, steps: float, words: str) -> None:
        """So many steps were done."""
        if not self._said and self._done == self._before:
            self._started = time.monotonic()  # what is prepared before the first step says nothing about the rest
            self._before += steps
        self._done, self._said = self._done + steps, words

    def words(self) -> str:
        """What, how far, and how long still, as far as that is known."""
        share = min(self._done / self._total, 1.0) if self._total else 0.0
        gained, seconds = self._done - self._before, time.monotonic() - self._started
        left = f", about {duration(seconds * (self._total - self._done) / gained)} left" if gained > 0 else ""
        said = f" ({self._said})" if self._said else ""
        return f"training: {100 * share:.0f} % done{left}{said}"
