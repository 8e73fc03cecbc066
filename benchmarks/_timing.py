"""Fair ratios on a noisy machine: all sides take turns, and the middle of many rounds counts."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


class Times:
    """Processor time of several sides, round by round."""

    def __init__(self, sides: dict[str, Callable[[], object]], *, rounds: int) -> None:
        self._times: dict[str, list[float]] = {name: [] for name in sides}
        for call in sides.values():
            for _ in range(3):
                call()
        for _ in range(rounds):
            for name, call in sides.items():
                call()  # not timed: what the side before left in the caches is not its fault
                start = time.process_time()
                call()
                self._times[name].append(time.process_time() - start)

    def __contains__(self, name: str) -> bool:
        return name in self._times

    def ms(self, name: str) -> float:
        """The median time of one call in milliseconds."""
        return statistics.median(self._times[name]) * 1e3

    def ratio(self, name: str, to: str) -> float:
        """The median over rounds of the ratio of two sides in the same round: drifts cancel."""
        pairs = zip(self._times[name], self._times[to], strict=True)
        return statistics.median(a / b for a, b in pairs)
