"""Who works on a file works alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # not a Unix: processes are not kept apart there
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked_file(path: Path, *, wait: bool = False) -> Iterator[IO[str]]:
    """A file that one process at a time holds open; the lock falls with the process, however it ends.

    Args:
        path: The file, which is made if it is not there, and stays.
        wait: Whether to wait for another one who holds it; else that is a `BlockingIOError`.
    """
    with path.open("a+") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield file
