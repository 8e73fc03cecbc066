"""Progress of many jobs: a bar for all of them, and one for each that runs; without a terminal, lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..common import Heartbeat
from ._console import Console

if TYPE_CHECKING:
    from pathlib import Path

    from ..common import Tick
    from ..lab import Folder


class Jobs:
    """What is told when jobs begin, go on and end; without a terminal, a line for each that ends, and now and then.

    Args:
        console: Where lines go.
        total: The number of jobs.
        done: How many are done before.
        bars: A `rich.progress.Progress`, or None.
        followed: Whether jobs tell how they go on, each with its own bar.
    """

    def __init__(self, console: Console, total: int, done: int, bars: Any, followed: bool) -> None:
        self._console, self._total, self._done = console, total, done
        self._bars, self._followed = bars, followed
        self._all = bars.add_task("experiments", total=total, completed=done, words="") if bars else None
        self._shown: dict[Path, Any] = {}  # the bars of jobs that run, by their directories
        self._running: dict[Path, str] = {}  # how far they are, in words

    def begin(self, folder: Folder, number: int) -> Tick:
        """A job begins; what is returned is told how it goes on."""
        if not self._followed:
            return lambda epochs, words: None
        if self._bars is None:
            return self._follow(folder)
        config = folder.config
        job = self._shown[folder.path] = self._bars.add_task(config.name, total=config.training.epochs, words="")
        return lambda epochs, words: self._bars.update(job, advance=epochs, words=words)

    def _follow(self, folder: Folder) -> Tick:
        name, total, done = folder.config.name, folder.config.training.epochs, 0.0

        def tick(epochs: float, words: str) -> None:
            nonlocal done
            done += epochs
            self._running[folder.path] = f"{name}: {100 * done / total:.0f} % ({words})"

        tick(0, "starting")
        return tick

    def words(self) -> str:
        """How far everything is, for a line."""
        parts = [f"{self._done} of {self._total} experiments done", *self._running.values()]
        return "" if self._console.quiet else "; ".join(parts)

    def finish(self, folder: Folder) -> None:
        """A job is done."""
        self._done += 1
        self._leave(folder)
        if self._bars is None:
            self._console.note(f"done: {folder.config.name} ({self._done} of {self._total})")
        else:
            self._bars.update(self._all, completed=self._done)

    def fail(self, folder: Folder, error: Exception) -> None:
        """A job has failed; the others go on."""
        self._leave(folder)
        self._console.note(f"failed: {folder.config.name}: {error}")

    def _leave(self, folder: Folder) -> None:
        self._running.pop(folder.path, None)
        shown = self._shown.pop(folder.path, None)
        if shown is not None:
            self._bars.remove_task(shown)


@contextmanager
def job_bars(console: Console, total: int, done: int, *, followed: bool) -> Iterator[Jobs]:
    """Bars on standard error if it is a terminal."""
    if not console.bars or not sys.stderr.isatty():
        jobs = Jobs(console, total, done, None, followed)
        with Heartbeat(jobs.words):
            yield jobs
        return
    from rich.console import Console as Terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:28}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Heartbeat(lambda: ""), Progress(*columns, console=Terminal(stderr=True)) as bars:
        yield Jobs(console, total, done, bars, followed)
