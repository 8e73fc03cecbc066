"""The corrected t-test against scipy and an example computed by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from evenhand.lab.results import corrected_paired_t_test, wilson

DIFFERENCES = [-0.03, -0.01, -0.04, -0.02, 0.01]


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_without_correction_it_is_the_usual_test(alternative):
    ours = corrected_paired_t_test(DIFFERENCES, 0, alternative=alternative)
    usual = stats.ttest_1samp(DIFFERENCES, 0, alternative=alternative)
    assert ours.statistic == pytest.approx(usual.statistic)
    assert ours.pvalue == pytest.approx(usual.pvalue)
    assert ours.df == usual.df


def test_worked_example():
    # mean -0.018; squared deviations 144, 64, 484, 4, 784 millionths, sum 1480, so s² = 0.00037;
    # (1/5 + 1/4) 0.00037 = 0.0001665, whose root is 0.0129035; t = -0.018 / 0.0129035 = -1.394972
    test = corrected_paired_t_test(DIFFERENCES, 0.25)
    assert test.mean == pytest.approx(-0.018)
    assert test.standard_error == pytest.approx(0.0129035, rel=1e-5)
    assert test.statistic == pytest.approx(-1.394972, rel=1e-5)
    assert test.pvalue == pytest.approx(stats.t.cdf(-1.394972, 4), rel=1e-5)


def test_the_correction_keeps_its_level():
    # differences with the correlation ratio / (1 + ratio) that the correction assumes, and no true difference
    rng, ratio, j = np.random.default_rng(0), 0.25, 5
    shared = ratio / (1 + ratio)
    found, usual = 0, 0
    for _ in range(4000):
        d = math.sqrt(shared) * rng.normal() + math.sqrt(1 - shared) * rng.normal(size=j)
        found += corrected_paired_t_test(d, ratio).pvalue < 0.05
        usual += corrected_paired_t_test(d, 0).pvalue < 0.05
    assert found / 4000 == pytest.approx(0.05, abs=0.01)
    assert usual / 4000 > 0.1


def test_the_direction_matters():
    less = corrected_paired_t_test(DIFFERENCES, 0.25)
    greater = corrected_paired_t_test(DIFFERENCES, 0.25, alternative="greater")
    assert less.pvalue + greater.pvalue == pytest.approx(1)
    assert less.pvalue < 0.5


def test_equal_differences():
    assert corrected_paired_t_test([-1, -1, -1], 0.25).pvalue == 0
    assert corrected_paired_t_test([1, 1], 0.25).statistic == math.inf
    assert math.isnan(corrected_paired_t_test([0, 0], 0.25).pvalue)


@pytest.mark.parametrize(
    ("differences", "ratio", "alternative", "message"),
    [
        ([1.0], 0.25, "less", r"differences should be a vector of at least 2 numbers. Found the shape \[1\]."),
        ([[1.0, 2.0]], 0.25, "less", "differences should be a vector"),
        ([1.0, 2.0], -1, "less", "ratio should be zero or a positive number. Found -1."),
        ([1.0, 2.0], 0.25, "smaller", "alternative should be .* Found 'smaller'."),
    ],
)
def test_mistakes_are_named(differences, ratio, alternative, message):
    with pytest.raises(ValueError, match=message):
        corrected_paired_t_test(differences, ratio, alternative=alternative)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (20, 20, 0.8389, 1.0),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_s_interval(k, n, low, high):
    assert wilson(k, n) == pytest.approx((low, high), abs=1e-4)
    exact = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k, n) == pytest.approx((exact.low, exact.high), abs=1e-6)


@pytest.mark.parametrize(("k", "n"), [(0, 0), (3, 2), (-1, 4)])
def test_wilson_s_interval_is_of_k_of_n(k, n):
    with pytest.raises(ValueError, match="k should be from 0 to n"):
        wilson(k, n)
