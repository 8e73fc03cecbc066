"""Fair ratios on a noisy machine: all sides take turns, and the middle of many rounds counts."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def median_ms(sides: dict[str, Callable[[], object]], *, rounds: int, inner: int = 1) -> dict[str, float]:
    """The median time of one call of each side in milliseconds, of rounds in which all take turns."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for call in sides.values():
        for _ in range(3):
            call()
    for _ in range(rounds):
        for name, call in sides.items():
            start = time.process_time()
            for _ in range(inner):
                call()
            times[name].append((time.process_time() - start) / inner * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}
