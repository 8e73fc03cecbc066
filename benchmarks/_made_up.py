"""A made-up table of any length: numbers and classes that depend on a few hidden factors, with holes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FACTORS, NOISE, CLASSES, HOLES = 4, 0.5, 5, 0.1


def made_up(n: int, numbers: int, classes: int, seed: int = 0) -> tuple[Array, NDArray[np.bool_]]:
    """Rows ``[n, numbers + classes]`` and which cells are to be removed; classes are codes from 0 to 4.

    A third of the numbers are logarithmic, a third are counts. Columns depend on the factors in ways of their own,
    which are those of seed 0: other seeds are other rows of the same table.
    """
    ways, rng = np.random.default_rng(0), np.random.default_rng([1, seed])
    weights = ways.normal(size=(FACTORS, numbers + classes))
    signal = np.tanh(rng.normal(size=(n, FACTORS))) @ weights + NOISE * rng.normal(size=(n, numbers + classes))
    for d in range(numbers):
        if d % 3 == 1:
            signal[:, d] = np.exp(signal[:, d])
        elif d % 3 == 2:
            signal[:, d] = rng.poisson(np.exp(0.5 * signal[:, d] + 1))
    edges = np.array([-1.5, -0.5, 0.5, 1.5])
    signal[:, numbers:] = np.digitize(signal[:, numbers:], edges)
    return signal, rng.random(signal.shape) < HOLES


def kinds(numbers: int, classes: int) -> dict[str, str]:
    """The schema of such a table as an array, whose columns are called x0, x1, and so on."""
    of_numbers = {f"x{d}": ("real", "positive", "count")[d % 3] for d in range(numbers)}
    return of_numbers | {f"x{numbers + d}": "categorical" for d in range(classes)}
