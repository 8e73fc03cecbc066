"""The quality of synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ..schema import Column, Schema
from ._similarity import (
    Array,
    Codes,
    bin_edges,
    class_distance,
    correlation,
    cramers_v,
    cut,
    kolmogorov_smirnov,
    total_variation,
)

STRONG_CORRELATION, STRONG_ASSOCIATION = 0.5, 0.3  # the defaults of SDMetrics 0.32


@dataclass(frozen=True)
class Quality:
    """How well synthetic rows resemble real ones; 1 is best.

    Attributes:
        shapes: The similarity of every column's distribution, ``[D]``.
        pairs: The similarity of every two columns' relation, symmetric ``[D, D]``; NaN on the diagonal and where
            it is undefined or was not asked for.
        coverage: The share of the categories of the real rows that also occur in the synthetic ones.
        lost: The categories that do not, each with the name of its column.
    """

    shapes: Array
    pairs: Array
    coverage: float
    lost: list[tuple[str, object]]

    @property
    def shape(self) -> float:
        """The mean over the columns."""
        return _mean(self.shapes)

    @property
    def pair(self) -> float:
        """The mean over the pairs of columns."""
        return _mean(self.pairs)

    @property
    def score(self) -> float:
        """The mean of `shape` and `pair`, as far as they are defined."""
        return _mean(np.array([self.shape, self.pair]))


def quality(
    real: ArrayLike,
    synthetic: ArrayLike,
    schema: Schema,
    *,
    common_bins: bool = False,
    strong_pairs: bool = False,
) -> Quality:
    r"""Compare synthetic rows with real ones as the quality report of SDMetrics does.

    **Shapes.** Numbers: one minus the Kolmogorov-Smirnov statistic. Classes: one minus the total variation
    distance :math:`\tfrac12 \sum_c |p_c - p'_c|`.

    **Pairs.** Two numbers: :math:`1 - |\rho - \rho'| / 2` with Pearson's correlations, undefined if a column is
    constant. Otherwise: one minus the total variation distance of the contingency tables, where numbers are cut
    into 10 bins of equal width.

    Real rows do not reach 1 against other real rows either: print that ceiling beside a score. It is low where
    numbers have outliers, because SDMetrics cuts each table over its own range, so that one outlier moves all
    bins.

    Numbers that are not finite count as missing. Missing cells are left out of shapes and correlations, and are
    a class of their own in contingency tables. A column of which nothing was generated has a shape of 0.

    Args:
        real: Real rows in original units, ``[N, D]``, best those that were not trained on.
        synthetic: Synthetic rows, ``[M, D]``.
        schema: The columns.
        common_bins: Whether both tables are cut at the bins of the real one: steadier, but not SDMetrics' rule.
        strong_pairs: Whether only pairs that are related in the real rows count: by a correlation above 0.5 or
            an association (Cramér's V) above 0.3. SDMetrics 0.32 does so; 0.25 looks at all pairs.
    """
    columns = list(schema)
    real_, synthetic_ = _table("real", real, columns), _table("synthetic", synthetic, columns)
    lost, n_categories = _lost(real_, synthetic_, columns)
    return Quality(
        shapes=_shapes(real_, synthetic_, columns),
        pairs=_pairs(real_, synthetic_, columns, common_bins, strong_pairs),
        coverage=1 - len(lost) / n_categories if n_categories else np.nan,
        lost=lost,
    )


def _table(name: str, values: ArrayLike, columns: list[Column]) -> Array:
    """A copy of the table in which everything unknown is NaN."""
    table = np.array(values, dtype=np.float64)
    if table.ndim != 2 or not len(table) or table.shape[1] != len(columns):
        found = list(table.shape)
        raise ValueError(f"{name} should have at least one row and {len(columns)} columns. Found the shape {found}.")
    table[~np.isfinite(table)] = np.nan
    for column, cells in zip(columns, table.T, strict=True):
        wrong = ~(np.isnan(cells) | np.isin(cells, np.arange(column.size)))
        if column.kind.nominal and wrong.any():
            raise ValueError(
                f"{name} should hold codes from 0 to {column.size - 1} in {column.name!r}. Found {cells[wrong][0]:g}."
            )
    return table


def _lost(real: Array, synthetic: Array, columns: list[Column]) -> tuple[list[tuple[str, object]], int]:
    """The categories that only real rows have, and how many real rows have at all."""
    lost: list[tuple[str, object]] = []
    total = 0
    for d, column in enumerate(columns):
        if column.kind.nominal:
            present = np.unique(real[~np.isnan(real[:, d]), d])
            total += len(present)
            missing = np.setdiff1d(present, synthetic[:, d]).astype(int)
            lost += [(column.name, column.categories[code]) for code in missing]
    return lost, total


def _shapes(real: Array, synthetic: Array, columns: list[Column]) -> Array:
    distances = [kolmogorov_smirnov if column.kind.numeric else class_distance for column in columns]
    return np.array([1 - distance(real[:, d], synthetic[:, d]) for d, distance in enumerate(distances)])


def _pairs(real: Array, synthetic: Array, columns: list[Column], common_bins: bool, strong: bool) -> Array:
    codes = [_codes(real[:, d], synthetic[:, d], column, common_bins) for d, column in enumerate(columns)]
    pairs = np.full((len(columns), len(columns)), np.nan)
    for i, j in combinations(range(len(columns)), 2):
        if columns[i].kind.numeric and columns[j].kind.numeric:
            score = _correlation_similarity(real[:, [i, j]], synthetic[:, [i, j]], strong)
        else:
            score = _contingency_similarity(codes[i], codes[j], strong)
        pairs[i, j] = pairs[j, i] = score
    return pairs


def _codes(real: Array, synthetic: Array, column: Column, common_bins: bool) -> tuple[Codes, Codes]:
    """Both columns as codes from 0, where 0 is a missing cell."""
    if column.kind.nominal:
        return np.nan_to_num(real + 1).astype(np.int64), np.nan_to_num(synthetic + 1).astype(np.int64)
    if not common_bins:
        return cut(real, bin_edges(real)), cut(synthetic, bin_edges(synthetic))
    inner = bin_edges(real)[1:-1]  # the outer bins have no end: synthetic numbers may lie anywhere
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    return cut(real, edges), cut(synthetic, edges)


def _correlation_similarity(real: Array, synthetic: Array, strong: bool) -> float:
    rho = correlation(*real.T)
    if strong and not abs(rho) > STRONG_CORRELATION:
        return np.nan
    return 1 - abs(rho - correlation(*synthetic.T)) / 2


def _contingency_similarity(first: tuple[Codes, Codes], second: tuple[Codes, Codes], strong: bool) -> float:
    if strong and not cramers_v(first[0], second[0]) > STRONG_ASSOCIATION:
        return np.nan
    n = 1 + max(int(codes.max()) for codes in second)
    real, synthetic = (a * n + b for a, b in zip(first, second, strict=True))
    return 1 - total_variation(real, synthetic)


def _mean(scores: Array) -> float:
    """The mean of the scores that are defined; NaN if none is."""
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if len(defined) else np.nan
