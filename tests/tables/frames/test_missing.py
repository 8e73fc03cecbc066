import numpy as np
import pytest

from evenhand.tables.frames import RawTable, at_random, completely_at_random, depending_on_values
from evenhand.tables.frames._missing import hide

RANDOM = np.random.default_rng(0)
VALUES = np.column_stack(
    [
        RANDOM.normal(size=4000),
        RANDOM.lognormal(0, 3, 4000),
        RANDOM.integers(0, 2, 4000),
        RANDOM.poisson(3, (4000, 5)),
    ]
)
RULES = {
    "MCAR": lambda values, rate, seed: completely_at_random(values.shape, rate, seed),
    "MAR": at_random,
    "MNAR": depending_on_values,
}


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.2, 0.5, 0.7])
@pytest.mark.parametrize("rule", RULES)
def test_the_rate_is_right_and_no_row_is_emptied(rule, rate):
    hidden = RULES[rule](VALUES, rate, 0)
    assert hidden.shape == VALUES.shape
    assert hidden.dtype == bool
    assert hidden.sum() == round(rate * VALUES.size)
    assert not hidden.all(1).any()


@pytest.mark.parametrize("rule", RULES)
def test_seeds(rule):
    assert (RULES[rule](VALUES, 0.3, 1) == RULES[rule](VALUES, 0.3, 1)).all()
    assert (RULES[rule](VALUES, 0.3, 1) != RULES[rule](VALUES, 0.3, 2)).any()


def test_narrow_tables_keep_a_cell_per_row():
    hidden = completely_at_random((500, 2), 0.5, 0)
    assert (hidden.sum(1) == 1).all()
    assert hidden[:, 0].mean() == pytest.approx(0.5, abs=0.1)
    with pytest.raises(ValueError, match=r"rate should be at most 0.5, so that every row keeps a cell.*Found 0.6"):
        completely_at_random((500, 2), 0.6, 0)
    with pytest.raises(ValueError, match="rate should be at most 0"):
        completely_at_random((500, 1), 0.1, 0)
    assert completely_at_random((0, 3), 0.5, 0).shape == (0, 3)


def dependence(hidden, values):
    """For each column, the gap between the mean ranks of hidden and other cells, in deviations."""
    ranks = values.argsort(0, kind="stable").argsort(0) / len(values)
    return np.array([ranks[h, j].mean() - ranks[~h, j].mean() for j, h in enumerate(hidden.T)])


def test_completely_at_random_depends_on_nothing():
    hidden = completely_at_random(VALUES.shape, 0.3, 0)
    assert np.abs(dependence(hidden, VALUES)).max() < 0.05
    assert hidden.mean(0) == pytest.approx([0.3] * 8, abs=0.03)


def test_at_random_depends_on_whole_columns():
    hidden = at_random(VALUES, 0.3, 0)
    whole = np.flatnonzero(~hidden.any(0))
    assert len(whole) == 2  # a quarter
    others = [j for j in range(8) if j not in whole]
    for j in others:
        gaps = dependence(np.repeat(hidden[:, [j]], len(whole), 1), VALUES[:, whole])
        assert np.abs(gaps).max() > 0.1
        assert abs(dependence(hidden[:, [j]], VALUES[:, [j]])[0]) < 0.06  # and not on themselves
    assert not at_random(VALUES[:, :2], 0.3, 0).all(1).any()


def test_depending_on_values_hides_the_large_ones():
    hidden = depending_on_values(VALUES, 0.3, 0)
    assert dependence(hidden, VALUES).min() > 0.15
    assert hidden[VALUES[:, 2] == 1, 2].mean() > 3 * hidden[VALUES[:, 2] == 0, 2].mean()


def test_missing_cells_count_as_average():
    values = VALUES.copy()
    values[::2, 0] = np.nan
    hidden = depending_on_values(values, 0.3, 0)
    assert hidden.sum() == round(0.3 * VALUES.size)
    assert np.isfinite(hidden[::2, 0].mean())


def test_constant_columns_do_not_matter():
    values = np.column_stack([np.ones(1000), np.arange(1000.0)])
    assert depending_on_values(values, 0.2, 0)[:, 0].mean() == pytest.approx(0.2, abs=0.15)
    assert at_random(values, 0.2, 0).sum() == 400


def test_hide():
    table = RawTable(VALUES[:3], np.array([[True] * 7 + [False]] * 3))
    hidden = np.zeros((3, 8), dtype=bool)
    hidden[1, 2] = True
    result = hide(table, hidden)
    assert (~result.observed).sum() == 4
    assert not result.observed[1, 2]
    assert result.values[1, 2] == 0
    assert table.observed[1, 2]  # untouched
    with pytest.raises(ValueError, match=r"hidden should have the shape \[3, 8\]. Found \[2, 8\]"):
        hide(table, hidden[:2])


@pytest.mark.parametrize("rate", [-0.1, 1.0, 20, float("nan")])
@pytest.mark.parametrize("rule", RULES)
def test_rates_are_checked(rule, rate):
    with pytest.raises(ValueError, match="rate should be at least 0 and below 1. Found"):
        RULES[rule](VALUES, rate, 0)


def test_values_are_checked():
    with pytest.raises(ValueError, match=r"values should have two axes. Found shape \[3\]"):
        depending_on_values(np.zeros(3), 0.1, 0)
    with pytest.raises(
        ValueError, match="values should have two columns or more, one of them always observed. Found 1"
    ):
        at_random(np.zeros((3, 1)), 0.1, 0)
