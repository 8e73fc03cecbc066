"""What the progress bar says while candidates are trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from ...common import progress_bar
from ._search import Search


@contextmanager
def progress(verbose: bool | Literal["auto"], search: Search) -> Iterator[Callable[[int], None]]:
    """What to call with the number of steps done."""
    with progress_bar(verbose, search.steps) as bar:

        def tick(steps: int) -> None:
            last = search.history[-1]["error"] if search.history else float("nan")
            bar(steps, f"{len(search.stack.runs)} candidate(s), error {last:.4f}")

        yield tick
