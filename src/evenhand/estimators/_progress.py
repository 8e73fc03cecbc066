"""A progress bar for long trainings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from ._search import Search


@contextmanager
def progress(verbose: bool | Literal["auto"], search: Search) -> Iterator[Callable[[int], None]]:
    """What to call with the number of steps done; it draws a bar on standard error if wanted."""
    if not (sys.stderr.isatty() if verbose == "auto" else verbose):
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:34}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("training", total=search.steps)

        def tick(steps: int) -> None:
            number = len(search.stack.runs)
            last = search.history[-1]["error"] if search.history else float("nan")
            bar.update(task, advance=steps, description=f"{number} candidate(s), error {last:.4f}")

        yield tick
