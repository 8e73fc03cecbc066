"""Progress of many jobs: a bar for all of them, and one for the job that runs; without a terminal, lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..common import Heartbeat
from ._console import Console

if TYPE_CHECKING:
    from ..common import Tick
    from ..lab import Folder


class Jobs:
    """What is told when jobs begin and end; without a terminal, a line for every job that is done, and now and then.

    Args:
        console: Where lines go.
        total: The number of jobs.
        done: How many are done before.
        bars: A `rich.progress.Progress`, or None.
        one_by_one: Whether jobs run one after the other, each with its own bar.
    """

    def __init__(self, console: Console, total: int, done: int, bars: Any, one_by_one: bool) -> None:
        self._console, self._total, self._done = console, total, done
        self._bars, self._one_by_one, self._job = bars, one_by_one, None
        self._all = bars.add_task("experiments", total=total, completed=done, words="") if bars else None
        self._running = ""  # the job that runs, and how far it is

    def begin(self, folder: Folder, number: int) -> Tick:
        """A job begins; what is returned is told how it goes on."""
        if not self._one_by_one:
            return lambda epochs, words: None
        if self._bars is None:
            return self._follow(folder)
        self._leave()
        config = folder.config
        job = self._job = self._bars.add_task(config.name, total=config.training.epochs, words="")
        return lambda epochs, words: self._bars.update(job, advance=epochs, words=words)

    def _follow(self, folder: Folder) -> Tick:
        name, total, done = folder.config.name, folder.config.training.epochs, 0.0

        def tick(epochs: float, words: str) -> None:
            nonlocal done
            done += epochs
            self._running = f"; {name}: {100 * done / total:.0f} % ({words})"

        tick(0, "starting")
        return tick

    def words(self) -> str:
        """How far everything is, for a line."""
        return "" if self._console.quiet else f"{self._done} of {self._total} experiments done{self._running}"

    def finish(self, folder: Folder) -> None:
        """A job is done."""
        self._done, self._running = self._done + 1, ""
        if self._bars is None:
            self._console.note(f"done: {folder.config.name} ({self._done} of {self._total})")
            return
        self._leave()
        self._bars.update(self._all, completed=self._done)

    def _leave(self) -> None:
        if self._job is not None:
            self._bars.remove_task(self._job)
            self._job = None


@contextmanager
def job_bars(console: Console, total: int, done: int, *, one_by_one: bool) -> Iterator[Jobs]:
    """Bars on standard error if it is a terminal."""
    if not console.bars or not sys.stderr.isatty():
        jobs = Jobs(console, total, done, None, one_by_one)
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
        yield Jobs(console, total, done, bars, one_by_one)
