"""The quality of synthetic rows against brute force and scipy, and at the edges."""

import numpy as np
import pytest
from scipy import stats

from evenhand.tables.inference import quality
from evenhand.tables.inference._similarity import bin_edges, correlation, cramers_v, cut, kolmogorov_smirnov
from evenhand.tables.schema import Column, Schema

from ._tables import SCHEMA, table


def brute_variation(a, b):
    """The total variation distance of two lists of anything hashable."""
    return sum(abs(a.count(x) / len(a) - b.count(x) / len(b)) for x in {*a, *b}) / 2


def bins(column):
    return np.digitize(column, np.histogram_bin_edges(column, 10)).tolist()


def test_shapes_equal_scipy_and_brute_force():
    real, synthetic = table(120), table(90, 1)
    shapes = quality(real, synthetic, SCHEMA).shapes
    for d in (0, 1):
        assert shapes[d] == pytest.approx(1 - stats.ks_2samp(real[:, d], synthetic[:, d]).statistic)
    for d in (2, 3):
        assert shapes[d] == pytest.approx(1 - brute_variation(real[:, d].tolist(), synthetic[:, d].tolist()))


def test_pairs_equal_scipy_and_brute_force():
    real, synthetic = table(120), table(90, 1)
    pairs = quality(real, synthetic, SCHEMA).pairs
    rho = [stats.pearsonr(x[:, 0], x[:, 1]).statistic for x in (real, synthetic)]
    assert pairs[0, 1] == pytest.approx(1 - abs(rho[0] - rho[1]) / 2)
    for i, j in ((0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        joint = [
            list(zip(*(bins(x[:, d]) if d < 2 else x[:, d].tolist() for d in (i, j)), strict=True))
            for x in (real, synthetic)
        ]
        assert pairs[i, j] == pytest.approx(1 - brute_variation(*joint))
    np.testing.assert_array_equal(pairs, pairs.T)
    assert np.isnan(np.diag(pairs)).all()


def test_the_score_is_the_mean_of_both_means():
    result = quality(table(120), table(90, 1), SCHEMA)
    assert result.shape == pytest.approx(result.shapes.mean())
    assert result.pair == pytest.approx(np.mean([result.pairs[i, j] for i in range(4) for j in range(i)]))
    assert result.score == pytest.approx((result.shape + result.pair) / 2)


def test_the_same_rows_are_perfect():
    result = quality(table(50), table(50), SCHEMA)
    assert result.score == pytest.approx(1)
    assert result.coverage == 1
    assert result.lost == []


def test_shuffled_columns_keep_shapes_and_lose_pairs():
    real, rng = table(500), np.random.default_rng(0)
    result = quality(real, np.stack([rng.permutation(c) for c in real.T], -1), SCHEMA)
    assert result.shape == pytest.approx(1)
    assert result.pair < 0.95


def test_lost_categories():
    real, synthetic = table(100), table(100, 1)
    synthetic[:, 3] = 0
    result = quality(real, synthetic, SCHEMA)
    assert result.lost == [("region", "south"), ("region", "west")]
    assert result.coverage == pytest.approx(3 / 5)
    # a category that the real rows do not have cannot be lost
    assert quality(synthetic, synthetic, SCHEMA).lost == []
    assert quality(synthetic, real, SCHEMA).coverage == 1


def test_common_bins_do_not_move_with_an_outlier():
    real, synthetic = table(200), table(200)
    synthetic[0, 0] = 1e6
    own, common = (quality(real, synthetic, SCHEMA, common_bins=b).pairs[0, 2] for b in (False, True))
    assert common > 0.99
    assert own < 0.7


def test_strong_pairs_leave_out_weak_ones():
    real, synthetic = table(300), table(300, 1)
    real[:, 1] = np.random.default_rng(0).poisson(3, 300)
    every, strong = (quality(real, synthetic, SCHEMA, strong_pairs=s) for s in (False, True))
    assert np.isnan(strong.pairs[1]).all()
    assert strong.pairs[0, 2] == every.pairs[0, 2]
    assert every.pair != strong.pair


def test_cramers_v_of_known_tables():
    a = np.repeat([0, 1, 2], 10)
    assert cramers_v(a, 2 - a) == pytest.approx(1)
    assert cramers_v(np.tile([0, 1], 10), np.repeat([0, 1], 10)) == pytest.approx(0)
    assert np.isnan(cramers_v(a, 0 * a))


def test_missing_cells():
    real, synthetic = table(100), table(100, 1)
    expected = quality(real[10:], synthetic, SCHEMA)
    holes = real.copy()
    holes[:10] = np.nan
    result = quality(holes, synthetic, SCHEMA)
    np.testing.assert_allclose(result.shapes, expected.shapes)
    assert result.pairs[0, 1] == pytest.approx(expected.pairs[0, 1])
    assert result.pairs[2, 3] < expected.pairs[2, 3]  # ten rows in a class that the synthetic ones lack


def test_numbers_that_are_not_finite_are_missing():
    real, synthetic = table(100), table(100, 1)
    synthetic[0, 0], synthetic[1, 0] = np.inf, -np.inf
    other = synthetic.copy()
    other[:2, 0] = np.nan
    assert quality(real, synthetic, SCHEMA).score == quality(real, other, SCHEMA).score


def test_a_column_that_was_not_generated():
    synthetic = table(100, 1)
    synthetic[:, [0, 3]] = np.nan
    result = quality(table(100), synthetic, SCHEMA)
    assert result.shapes[[0, 3]].tolist() == [0, 0]
    assert np.isnan(result.pairs[0, 1])
    assert np.isfinite(result.score)


def test_constant_columns_and_single_rows():
    constant = np.tile([1.0, 2.0, 0.0, 1.0], (5, 1))
    result = quality(constant, constant, SCHEMA)
    assert result.shapes.tolist() == [1, 1, 1, 1]
    assert np.isnan(result.pairs[0, 1])
    assert result.score == pytest.approx(1)
    assert quality(constant[:1], constant[:1], SCHEMA).score == pytest.approx(1)


def test_a_single_column_has_no_pairs():
    schema = Schema((Column("x", "real"),))
    result = quality([[1.0], [2.0]], [[1.0], [3.0]], schema)
    assert result.score == result.shape == pytest.approx(0.5)
    assert np.isnan(result.coverage)


def test_numbers_whose_squares_overflow():
    x, y = np.array([1.0, -1.0, 0.5]), np.array([1.0, 2.0, 3.0])
    assert correlation(1e300 * x, 1e-300 * y) == pytest.approx(stats.pearsonr(x, y).statistic)


def test_kolmogorov_smirnov_of_nothing():
    assert kolmogorov_smirnov(np.array([]), np.array([1.0])) == 1
    assert np.isnan(kolmogorov_smirnov(np.array([]), np.array([np.nan])))


@pytest.mark.parametrize(
    ("real", "synthetic", "message"),
    [
        (table(5)[:0], table(5), r"real should have at least one row and 4 columns. Found the shape \[0, 4\]."),
        (table(5), table(5)[:, :3], r"synthetic should have .* Found the shape \[5, 3\]."),
        (table(5), table(5) + np.array([0, 0, 0, 3]), "synthetic should hold codes from 0 to 2 in 'region'. Found"),
        (table(5) + np.array([0, 0, 0.5, 0]), table(5), "real should hold codes from 0 to 1 in 'sex'. Found"),
    ],
)
def test_mistakes_are_named(real, synthetic, message):
    with pytest.raises(ValueError, match=message):
        quality(real, synthetic, SCHEMA)


UNIT = np.linspace(0, 1, 50)


@pytest.mark.parametrize(
    "numbers",
    [
        np.full(50, 1e20),
        np.full(50, 1e300),
        1e20 + 16384 * np.arange(50) % 3,
        1e16 + 2 * (np.arange(50) % 4),
        1e15 + np.arange(50) % 4,
        1e9 + 1e-6 * UNIT,
        1.7e308 * np.linspace(-1, 1, 50),
        5e-324 * (np.arange(50) % 3),
    ],
)
@pytest.mark.parametrize("common_bins", [False, True])
def test_numbers_that_are_large_or_close(numbers, common_bins):
    schema = Schema((Column("x", "real"), Column("y", "real"), Column("c", "binary", ("a", "b"))))
    real = np.stack([numbers, UNIT, np.arange(50) % 2], -1)
    for strong in (False, True):
        result = quality(real, real, schema, common_bins=common_bins, strong_pairs=strong)
        assert result.score == pytest.approx(1)
        assert np.isfinite(
            quality(real, real[::3], schema, common_bins=common_bins, strong_pairs=strong).shapes
        ).all()
    edges = bin_edges(numbers)
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()
    assert cut(numbers, edges).min() >= 1


@pytest.mark.parametrize("numbers", [UNIT, -7 * UNIT**3, 1e300 * UNIT, np.full(5, 3.0), np.full(5, np.nan)])
def test_bins_are_those_of_numpy(numbers):
    expected = np.histogram_bin_edges(numbers[~np.isnan(numbers)], 10)
    np.testing.assert_array_equal(bin_edges(numbers), expected)
