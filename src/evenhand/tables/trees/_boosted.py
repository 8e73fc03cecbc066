"""One boosted model of a column as arrays, and what it guesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int32]
AT_ONCE = 2**18  # pairs of a row and a tree: their nodes should fit into the cache


@dataclass(frozen=True, eq=False)
class Boosted:
    """All trees of one model, the nodes of one after those of another.

    Attributes:
        column: What is guessed, as a place in the schema.
        start: What sums start from: one for every category, minus infinity for those never seen; or one for a number.
        roots: The first node of every tree.
        outputs: The category that a tree is for; 0 for numbers.
        feature: The column that a node looks at; leaves look at any.
        threshold: Numbers up to this go left.
        left, right: The next nodes; a leaf leads to itself.
        missing_left: Whether missing cells go left.
        group: The place in `groups` of the categories that go left; -1 where a node looks at a number.
        groups: Sets of categories as bits, ``[sets, 32]`` bytes.
        value: What a leaf adds to the sum of its output.
    """

    column: int
    start: Array
    roots: Places
    outputs: Places
    feature: Places
    threshold: Array
    left: Places
    right: Places
    missing_left: NDArray[np.bool_]
    group: Places
    groups: NDArray[np.uint8]
    value: Array

    def guess(self, cells: Array) -> Array:
        """Expected numbers ``[n, 1]`` or probabilities of categories ``[n, size]``.

        Args:
            cells: Rows of the table, ``[n, D]``; NaN where a cell is missing. Those of the column itself are not
                looked at.
        """
        sums = np.tile(self.start, (len(cells), 1))
        size = max(1, AT_ONCE // max(1, len(self.roots)))
        for first in range(0, len(cells), size):
            self._add(cells[first : first + size], sums[first : first + size])
        return sums if len(self.start) == 1 else _softmax(sums)

    def _add(self, cells: Array, sums: Array) -> None:
        leaves = self.value[self._leaves(cells)]  # [n, trees]
        for output in np.unique(self.outputs):
            sums[:, output] += leaves[:, self.outputs == output].sum(1)

    def _leaves(self, cells: Array) -> Places:
        """The leaf of every tree that a row ends in, ``[n, trees]``."""
        rows = np.arange(len(cells))[:, None]
        at = np.tile(self.roots, (len(cells), 1))
        while True:
            looked_at = cells[rows, self.feature[at]]
            left = np.where(np.isnan(looked_at), self.missing_left[at], looked_at <= self.threshold[at])
            group = self.group[at]
            sets = (group >= 0) & ~np.isnan(looked_at)
            left[sets] = self._is_in(group[sets], looked_at[sets].astype(np.intp))
            below = np.where(left, self.left[at], self.right[at])
            if np.array_equal(below, at):
                return at
            at = below

    def _is_in(self, group: Places, code: NDArray[np.intp]) -> NDArray[np.bool_]:
        return (self.groups[group, code >> 3] >> (code & 7) & 1).astype(bool)


def _softmax(sums: Array) -> Array:
    weights = np.exp(sums - sums.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)
