"""How far long work is: a bar on a terminal, a line now and then everywhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Tick = Callable[[float, str], None]
"""What to call with the number of steps (or epochs) done since the last call, and with a few words."""

MOMENTS = (1.5, 10.0, 30.0, 60.0)  # seconds after the start at which a line is written; then one every minute


@contextmanager
def progress_bar(
    verbose: bool | Literal["auto"], total: float, done: float = 0, what: str = "training"
) -> Iterator[Tick]:
    """Show on standard error how far work is: a bar on a terminal; elsewhere, in a pipe or a file, lines.

    The first line comes after a second and a half, also if nothing has been done by then, so that short work stays
    silent; the next ones after 10, 30 and 60 seconds, then every minute. Calls of the tick are cheap: they only
    leave word.

    Args:
        verbose: False for nothing at all; True for a last line even of short work.
        total: Number of steps (or epochs) to do.
        done: How many are done already.
        what: What is being done, for the first line: "training 3 modalities on 1,000 rows".

    Example:
        >>> with progress_bar(False, 10) as tick:
        ...     tick(1, "epoch 1/10, error 0.25")
    """
    if not verbose:
        yield lambda steps, words: None
    elif sys.stderr.isatty():
        with _bar(total, done) as tick:
            yield tick
    else:
        with _lines(total, done, what, always=verbose is True) as tick:
            yield tick


@contextmanager
def _bar(total: float, done: float) -> Iterator[Tick]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:34}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("training", total=total, completed=done)  # type: ignore[arg-type]
        yield lambda steps, words: bar.update(task, advance=steps, description=words)


@contextmanager
def _lines(total: float, done: float, what: str, always: bool) -> Iterator[Tick]:
    speaker = _Speaker(total, done, what)
    ended = threading.Event()
    # a thread, because a single step may take minutes
    thread = threading.Thread(target=speaker.speak, args=(ended,), daemon=True)
    thread.start()
    try:
        yield speaker.tick
    finally:
        ended.set()
        thread.join()
    if always or speaker.has_spoken:
        speaker.say("in all")


class _Speaker:
    """Writes how far work is.

    Args:
        total: Steps to do.
        done: Steps done before.
        what: What is being done.
    """

    def __init__(self, total: float, done: float, what: str) -> None:
        self._total, self._before, self._done, self._what = total, done, done, what
        self._words, self._started, self.has_spoken = "", time.monotonic(), False

    def tick(self, steps: float, words: str) -> None:
        self._done += steps
        self._words = words

    def speak(self, ended: threading.Event) -> None:
        """A line at every moment until the work has ended."""
        for pause in _pauses():
            if ended.wait(pause):
                return
            self.say()

    def say(self, ending: str = "so far") -> None:
        """One line: what is being done, how much of it, the last words, and how long it takes."""
        part = min(1.0, self._done / self._total) if self._total else 1.0
        words = [f"{self._what}: {part:.0%}", self._words, f"{_clock(self._passed())} {ending}", self._left()]
        print(", ".join(filter(None, words)), file=sys.stderr, flush=True)
        self.has_spoken = True

    def _left(self) -> str:
        new, rest = self._done - self._before, self._total - self._done
        return f"about {_clock(self._passed() / new * rest)} left" if new > 0 and rest > 0 else ""

    def _passed(self) -> float:
        return time.monotonic() - self._started


def _pauses() -> Iterator[float]:
    """Seconds between lines."""
    for before, moment in zip((0.0, *MOMENTS), MOMENTS, strict=False):
        yield moment - before
    while True:
        yield MOMENTS[-1]


def _clock(seconds: float) -> str:
    """Minutes and seconds, such as 2:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
