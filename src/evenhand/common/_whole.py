"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file that takes the place of another only when it is complete.

    A reader sees the old file or the new one, never a part, even if the machine goes down in between. Who may read
    it stays as it was; of a new file, it is what the system gives new files. A link stays a link.
    """
    path = path.resolve()
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")  # others may write the same file now
    try:
        partial.touch()
        mode = (path if path.exists() else partial).stat().st_mode
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.chmod(mode)  # safetensors leaves it to its owner alone
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
