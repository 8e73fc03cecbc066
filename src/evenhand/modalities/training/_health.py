"""Whether experts live: who gets no weight, and whose posterior has run away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

EVERY = 100  # training steps between looks
STARVED = 0.05  # of an equal share of the weights: those with less, at two looks in a row, hardly learn
RUNAWAY, TIMES = 1_000.0, 10.0  # nats from the prior, and times as many as the expert with the fewest


def starves(share: float, n_experts: int) -> bool:
    """Whether an expert with this share of the weights hardly learns."""
    return share < STARVED / n_experts


def runs_away(rate: float, others: Iterable[float]) -> bool:
    """Whether a posterior so many nats from the prior has run away, beside those of the other experts."""
    return rate >= RUNAWAY and rate >= TIMES * min(others, default=0.0)


class Health:
    """Looks at readings of a training now and then, and says once of every expert that it is dying.

    A rate alone is no alarm for starvation: an expert without any weight has a healthy one. A share is none under
    the loose bounds, where all are equal, nor for a single expert.

    Args:
        experts: Their names.
    """

    every: ClassVar[int] = EVERY
    """Training steps between looks."""

    def __init__(self, experts: Sequence[str]) -> None:
        self._experts = list(experts)
        self._hungry: dict[str, int] = {}  # since which step
        self._far: dict[str, float] = {}  # the rate at the last look
        self._told: set[tuple[str, str]] = set()

    def look(self, step: int, readings: Mapping[str, float]) -> list[str]:
        """What is to be said, in sentences; empty if all is well, or has been said.

        Args:
            step: Number of steps done.
            readings: Means over the steps since the last look: ``share/<expert>`` and ``rate/<expert>``.
        """
        found = [self._starving(name, step, readings) for name in self._experts]
        found += [self._running_away(name, step, readings) for name in self._experts]
        return [sentence for sentence in found if sentence]

    def _starving(self, name: str, step: int, readings: Mapping[str, float]) -> str:
        share, fair = readings.get(f"share/{name}", 1.0), 1 / len(self._experts)
        if not starves(share, len(self._experts)):
            self._hungry.pop(name, None)
            return ""
        since = self._hungry.setdefault(name, step)
        if since == step or not self._first_time(name, "starving"):
            return ""
        return (
            f"The expert {name!r} starves: since step {since - EVERY} its samples have had {share:.2%} of the "
            f"weights, where an equal share is {fair:.0%}, so that its encoder hardly learns. Under the tight bound "
            "whoever learns first takes all the weight. Use tightness=Balanced(), or objective='iwae'."
        )

    def _running_away(self, name: str, step: int, readings: Mapping[str, float]) -> str:
        rate = readings.get(f"rate/{name}", 0.0)
        others = [readings[f"rate/{x}"] for x in self._experts if x != name and f"rate/{x}" in readings]
        before = self._far.pop(name, None)
        if not runs_away(rate, others):
            return ""
        self._far[name] = rate
        # many a posterior starts far away and is back before the next look
        if before is None or rate < before / 2 or not self._first_time(name, "running away"):
            return ""
        return (
            f"The posterior of the expert {name!r} has run away: since step {step - 2 * EVERY} it has been more than "
            f"{RUNAWAY:,.0f} nats from the prior, now {rate:,.0f}, and hardly any gradient brings it back. Start "
            "again with tightness=Balanced(), an encoder whose scales cannot reach zero, clip_expert_norm, "
            "learning_rate_warm_up, or a lower learning_rate."
        )

    def _first_time(self, name: str, what: str) -> bool:
        new = (name, what) not in self._told
        self._told.add((name, what))
        return new
