"""The line between the nearest cells, and how far guesses go from it."""

import numpy as np
import pytest

from evenhand.tables import Column, Schema
from evenhand.tables.frames import RawTable
from evenhand.tables.longitudinal._line import best_shares, mixed, on_the_line

SCHEMA = Schema((Column("x", "real"), Column("c", "binary", ("n", "y"))))


def test_numbers_lie_on_the_line_and_classes_are_those_of_the_nearest_visit():
    values = np.array([[1.0, 0], [0, 0], [7.0, 1], [0, 0]])
    observed = np.array([[1, 1], [0, 0], [1, 1], [0, 0]], bool)
    found = on_the_line(RawTable(values, observed), np.array([0.0, 1.0, 3.0, 9.0]), [np.arange(4)], SCHEMA)
    assert found[:, 0].tolist() == pytest.approx([1, 3, 7, 7])
    assert found[:, 1].tolist() == [0, 0, 1, 1]


def test_a_history_without_a_cell_has_no_line():
    table = RawTable(np.zeros((2, 2)), np.zeros((2, 2), bool))
    line = on_the_line(table, np.arange(2.0), [np.arange(2)], SCHEMA)
    assert np.isnan(line).all()
    guess = np.ones((2, 2))
    assert np.array_equal(mixed(guess, line, np.zeros(2), SCHEMA), guess)


def test_shares_are_those_that_guess_best():
    rng = np.random.default_rng(0)
    truth = np.column_stack([rng.normal(size=100), rng.integers(0, 2, 100)])
    off, scored = truth + 1.0, np.ones(truth.shape, bool)
    assert best_shares(truth, truth, off, scored, SCHEMA).tolist() == [1, 1]
    assert best_shares(truth, off, truth, scored, SCHEMA).tolist() == [0, 0]
    assert best_shares(truth, truth + 1.0, truth - 1.0, scored, SCHEMA)[0] == 0.5
    assert best_shares(truth, off, truth, ~scored, SCHEMA).tolist() == [1, 1]


def test_the_line_is_left_for_a_clear_gain_only():
    """Four mistakes elsewhere are hardly better than five; five mistakes fewer and no other are."""
    truth, scored = np.zeros((40, 2)), np.ones((40, 2), bool)
    line, elsewhere = truth.copy(), truth.copy()
    line[:5, 1] = 1
    elsewhere[10:14, 1] = 1
    assert best_shares(truth, elsewhere, line, scored, SCHEMA)[1] == 0
    assert best_shares(truth, truth, line, scored, SCHEMA)[1] == 1
