"""Work that takes long says so: a line after a second and a half, then at growing intervals."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import ClassVar

FIRST = 1.5  # seconds without a word
GROWTH = 2.0  # the next silence is so many times as long
LONGEST = 60.0  # seconds; no silence is longer


class Heartbeat:
    """Says on standard error what is being done, from a thread of its own: a single step may take long.

    Of several that are open, only the one that was opened last speaks.

    Args:
        words: What is said, asked for when it is said; nothing is said if it is empty.
        first: Seconds until the first line.

    Example:
        >>> with Heartbeat(lambda: "reading a large file"):
        ...     pass  # done before it had to be said
    """

    _open: ClassVar[list[Heartbeat]] = []

    def __init__(self, words: Callable[[], str], *, first: float = FIRST) -> None:
        self._words, self._first = words, first
        self._changed = threading.Condition()
        self._silence, self._due, self._ended = first, 0.0, False
        self._thread = threading.Thread(target=self._run, name="evenhand-heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self.rest()
        Heartbeat._open.append(self)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()
        Heartbeat._open.remove(self)
        for other in Heartbeat._open[-1:]:
            other.rest()

    def rest(self) -> None:
        """Something was said: be silent for a while."""
        with self._changed:
            self._silence = self._first
            self._due = time.monotonic() + self._silence
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._ended:
                left = self._due - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                if Heartbeat._open[-1] is self and (said := self._words()):
                    print(said, file=sys.stderr, flush=True)
                self._silence = min(GROWTH * self._silence, LONGEST)
                self._due = time.monotonic() + self._silence
