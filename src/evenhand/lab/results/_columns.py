"""Errors column by column: plain training beside impartial training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._reports import Run, TableReport


@dataclass(frozen=True)
class ColumnErrors:
    """The errors of a column, or of the columns of a kind; NaN where there is none."""

    name: str
    trivial: float
    plain: float
    impartial: float

    @property
    def gain(self) -> float:
        """By how much impartial training is better."""
        return self.plain - self.impartial


@dataclass(frozen=True)
class Tally:
    """How many columns are better, worse and the same after impartial training, as numbers are printed."""

    better: int
    worse: int
    same: int

    def __str__(self) -> str:
        """Such as "9 of 12 columns improve, 2 get worse, 1 stays the same"."""
        n = self.better + self.worse + self.same
        first = f"{self.better} of {n} column{'s' if n != 1 else ''} improve{'s' if self.better == 1 else ''}"
        worse = [f"{self.worse} get{'s' if self.worse == 1 else ''} worse"] if self.worse else []
        same = [f"{self.same} stay{'s' if self.same == 1 else ''} the same"] if self.same else []
        return ", ".join([first, *worse, *same])


def tally(pairs: Sequence[ColumnErrors]) -> Tally:
    """Count the columns whose errors are known."""
    known = [(f"{p.plain:.3f}", f"{p.impartial:.3f}", p.gain) for p in pairs if math.isfinite(p.gain)]
    changed = [gain for before, after, gain in known if before != after]
    better = sum(gain > 0 for gain in changed)
    return Tally(better, len(changed) - better, len(known) - len(changed))


def medians(rows: object, n: int) -> NDArray[np.float64]:
    """Medians over seeds of what is known, column by column."""
    found = np.array(rows if rows else [[math.nan] * n], float)
    found[~np.isfinite(found)] = math.nan
    return np.array([np.median(k) if len(k := c[~np.isnan(c)]) else math.nan for c in found.T])


def column_pairs(read: TableReport, chosen: Run | None) -> list[ColumnErrors]:
    """Errors of all columns, the largest gain first; those that are not known come last."""
    n = len(read.columns)
    trivial = np.array(read.report.get("trivial", {}).get("columns") or [math.nan] * n, float)
    impartial = medians(chosen["columns"] if chosen else None, n)
    found = zip(read.columns, trivial, medians(read.plain["columns"], n), impartial, strict=True)
    pairs = [ColumnErrors(a, float(b), float(c), float(d)) for a, b, c, d in found]
    return sorted(pairs, key=lambda p: -p.gain if math.isfinite(p.gain) else math.inf)
