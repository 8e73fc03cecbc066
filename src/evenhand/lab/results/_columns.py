"""Errors column by column: plain training beside impartial training."""

from __future__ import annotations

import math
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
