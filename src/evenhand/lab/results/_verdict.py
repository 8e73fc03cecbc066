"""Which training to take for what: to fill holes, to make new rows, to have codes of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ._reports import Run, TableReport, weight_text

Role = Literal["plain", "smaller", "impartial"]
"""Plain training, plain training with a smaller weight of the KL term, impartial training; the simplest first."""

FEW = 50  # test rows; fewer tell nothing apart
CLEAR = 0.01  # of an error; a smaller difference is none
CLEAR_NATS = 0.1  # of a log-probability


@dataclass(frozen=True)
class Purpose:
    """What somebody wants of a model, and what tells whether it is good for that.

    Attributes:
        name: In a sentence that begins with it.
        measure: In a report.
        measured: In words.
        digits: With which it is printed.
        higher: Whether higher is better.
    """

    name: str
    measure: Literal["hidden", "log_likelihood", "error"]
    measured: str
    digits: int = 3
    higher: bool = False


HOLES = Purpose("To fill holes", "hidden", "error on hidden cells")
ROWS = Purpose("To make new rows", "log_likelihood", "log p of a test row", 1, higher=True)
CODES = Purpose("To have codes of rows", "error", "error of cells rebuilt from the code")
PURPOSES = (HOLES, ROWS, CODES)


@dataclass(frozen=True)
class Advice:
    """What to take for a purpose.

    Attributes:
        purpose: For what.
        runs: The best of each kind, chosen on validation rows.
        values: What each reaches on test rows, median over seeds.
        taken: Which of them to take.
    """

    purpose: Purpose
    runs: Mapping[Role, Run]
    values: Mapping[Role, float]
    taken: Role

    @property
    def run(self) -> Run:
        """What to take."""
        return self.runs[self.taken]

    @property
    def options(self) -> list[str]:
        """The options of `impute` and `sample` that train like this."""
        return ["--method", str(self.run["method"]), "--kl-weight", weight_text(self.run)]


def few_rows(read: TableReport) -> bool:
    """Whether there are too few test rows to tell trainings apart."""
    return int(read.data["test_rows"]) < FEW


def fair(read: TableReport) -> bool:
    """Whether hidden cells are a fair test: models that were shown whole rows only have never learnt to guess."""
    return float(read.report["config"]["training"].get("hide", 0.0)) > 0


def verdict(read: TableReport) -> list[Advice]:
    """What to take for each purpose: the simplest training that no other one clearly beats.

    One is clearly better if it is so in every seed, and by more than 1 % of the error or 0.1 nats. Purposes of which
    a report does not know enough are left out.
    """
    found = (_advice(read, purpose) for purpose in PURPOSES if purpose is not HOLES or fair(read))
    return [advice for advice in found if advice is not None]


def _advice(read: TableReport, purpose: Purpose) -> Advice | None:
    smaller = [run for run in read.curve if run["kl_weight"] < 1]
    kinds: dict[Role, Sequence[Run]] = {"plain": [read.plain], "smaller": smaller, "impartial": read.impartial()}
    best = {role: _best(read, runs, purpose) for role, runs in kinds.items()}
    runs: dict[Role, Run] = {role: run for role, run in best.items() if run is not None}
    if "plain" not in runs:
        return None
    taken: Role = "plain"
    for role in runs:
        if not few_rows(read) and _clearly_better(read, purpose, runs[role], runs[taken]):
            taken = role
    return Advice(purpose, runs, {role: read.median(run, purpose.measure) for role, run in runs.items()}, taken)


def _best(read: TableReport, runs: Sequence[Run], purpose: Purpose) -> Run | None:
    """The best on validation rows of those that did not fail."""
    measure, sign = f"validation_{purpose.measure}", -1 if purpose.higher else 1
    known = [run for run in runs if math.isfinite(float(read.values(run, measure).mean()))]
    return min(known, key=lambda run: sign * read.mean(run, measure), default=None)


def _clearly_better(read: TableReport, purpose: Purpose, run: Run, rival: Run) -> bool:
    ours, theirs = read.values(run, purpose.measure), read.values(rival, purpose.measure)
    gains = ours - theirs if purpose.higher else theirs - ours
    least = CLEAR_NATS if purpose.higher else CLEAR * float(np.median(theirs))
    return bool((gains > 0).all() and np.median(gains) > least)
