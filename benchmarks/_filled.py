"""What an imputer gives back: a guess for every hole, several draws if it has them, and what they cost."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
N_DRAWS = 20


class Timed:
    """Something that took seconds."""

    seconds: dict[str, float]

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        start = _seconds()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + _seconds() - start


@dataclass
class Filled(Timed):
    """The rows that were to be filled.

    Attributes:
        guess: The best guess, ``[n, D]``.
        draws: Several imputations, each a draw, ``[20, n, D]``; None if the imputer has none.
        seconds: Of the processor, under "fit and guess" and "draws".
        note: What else is worth knowing.
    """

    guess: Array | None = None
    draws: Array | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    note: str = ""


def _seconds() -> float:
    """Processor time of this process and of those it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
