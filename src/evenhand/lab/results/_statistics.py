"""Whether one method beats another by more than chance."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

ALPHA = 0.1  # as in the paper

Alternative = Literal["less", "greater", "two-sided"]


@dataclass(frozen=True)
class TTest:
    """The outcome of a paired t-test.

    Attributes:
        statistic: Student's t; infinite if all differences are equal, NaN if all are zero.
        pvalue: How probable so extreme a statistic would be if the mean difference were zero.
        df: Degrees of freedom.
        mean: The mean of the differences.
        standard_error: The corrected standard error of that mean.
    """

    statistic: float
    pvalue: float
    df: int
    mean: float
    standard_error: float


def corrected_paired_t_test(differences: ArrayLike, /, ratio: float, *, alternative: Alternative = "less") -> TTest:
    r"""The paired t-test for repeated random splits of one data set, whose runs are not independent.

    .. math:: t = \frac{\bar d}{\sqrt{(1/J + n_\text{test}/n_\text{train})\, s^2}} \sim \text{Student}(J - 1)

    with the mean and the (unbiased) variance of the J differences. The training sets of two splits overlap, so
    the usual s²/J is too small, and the usual test finds differences that are not there. At ``ratio=0`` this is
    the usual test.

    Nadeau and Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003.

    Args:
        differences: The difference between both methods in every run, ``[J]``, J at least 2.
        ratio: The number of test rows divided by the number of training rows, 0.25 for a split into 20 % and 80 %.
        alternative: What is to be shown: that the mean difference is ``"less"`` than zero (the first method has
            the smaller error), ``"greater"``, or different (``"two-sided"``).

    Example:
        >>> test = corrected_paired_t_test([-0.03, -0.01, -0.04, -0.02, 0.01], ratio=0.25)
        >>> print(f"t = {test.statistic:.2f}, p = {test.pvalue:.3f}")
        t = -1.39, p = 0.118
    """
    d = np.asarray(differences, float)
    if d.ndim != 1 or len(d) < 2:
        raise ValueError(f"differences should be a vector of at least 2 numbers. Found the shape {list(d.shape)}.")
    if not 0 <= ratio < math.inf:
        raise ValueError(f"ratio should be zero or a positive number. Found {ratio}.")
    df, mean = len(d) - 1, float(d.mean())
    error = math.sqrt((1 / len(d) + ratio) * d.var(ddof=1))
    statistic = mean / error if error else math.copysign(math.inf, mean) if mean else math.nan
    return TTest(statistic, _pvalue(statistic, df, alternative), df, mean, error)


def better(values: Sequence[float], rivals: Sequence[float], *, alpha: float = ALPHA) -> bool:
    """Whether a one-sided Student's t-test with equal variances says that values are larger than their rivals.

    It never does for fewer than two numbers on a side.
    """
    ours, theirs = ([x for x in side if not math.isnan(x)] for side in (values, rivals))
    if len(ours) < 2 or len(theirs) < 2:
        return False
    if statistics.pvariance(ours) == statistics.pvariance(theirs) == 0:
        return ours[0] > theirs[0]  # nothing is left to chance
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # digits get lost where numbers are almost equal
        return bool(stats.ttest_ind(ours, theirs, equal_var=True, alternative="greater").pvalue < alpha)


def wilson(k: int, n: int, /, z: float = 1.959964) -> tuple[float, float]:
    """An interval of a probability from k of n, of 95 % by default; it is right where k is 0 or n, too.

    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.

    Example:
        >>> low, high = wilson(20, 20)
        >>> f"{low:.3f} to {high:.3f}"
        '0.839 to 1.000'
    """
    if not 0 <= k <= n or not n:
        raise ValueError(f"k should be from 0 to n, and n at least 1. Found {k} of {n}.")
    centre = (k + z * z / 2) / (n + z * z)
    spread = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    return max(0.0, centre - spread), min(1.0, centre + spread)


def _pvalue(statistic: float, df: int, alternative: Alternative) -> float:
    if alternative == "less":
        return float(stats.t.cdf(statistic, df))
    if alternative == "greater":
        return float(stats.t.sf(statistic, df))
    if alternative == "two-sided":
        return float(2 * stats.t.sf(abs(statistic), df))
    raise ValueError(f"alternative should be 'less', 'greater' or 'two-sided'. Found {alternative!r}.")
