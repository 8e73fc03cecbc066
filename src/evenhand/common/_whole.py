"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file that takes the place of another only when it is complete.

    A reader sees the old file or the new one, never a part, even if the machine goes down in between.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")  # others may write the same file now
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
