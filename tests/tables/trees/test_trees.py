"""Boosted trees as arrays: the guesses of scikit-learn, from numbers that can be stored."""

import numpy as np
import pytest

from evenhand.tables import Column, Schema
from evenhand.tables.frames import RawTable
from evenhand.tables.trees import Forest, _grow, grow

N, HOLES = 400, 0.2
SCHEMA = Schema(
    (
        Column("real", "real"),
        Column("count", "count"),
        Column("colour", "categorical", ("red", "green", "blue")),
        Column("flag", "binary", (False, True)),
        Column("positive", "positive"),
    )
)


def cells(seed=0, n=N, holes=HOLES):
    """Columns of numbers and categories that all depend on one hidden number; NaN in holes."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    made = [
        hidden + 0.1 * rng.normal(size=n),
        rng.poisson(np.exp(1 + 0.5 * hidden)),
        np.digitize(hidden + 0.2 * rng.normal(size=n), [-0.5, 0.5]),
        hidden + 0.2 * rng.normal(size=n) > 0,
        np.exp(hidden),
    ]
    values = np.stack(made, 1).astype(float)
    values[rng.random(values.shape) < holes] = np.nan
    return values


def raw(values):
    return RawTable(np.nan_to_num(values), ~np.isnan(values))


@pytest.fixture(scope="module")
def grown():
    """Models of scikit-learn beside what was made of them."""
    pairs, extract = [], _grow.extract

    def keep(model, *args):
        pairs.append((model, args, extract(model, *args)))
        return pairs[-1][-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_grow, "extract", keep)
        list(grow(raw(cells()), SCHEMA, seed=0))
    return pairs


@pytest.mark.parametrize("holes", [0.0, 0.3, 1.0])
def test_guesses_are_those_of_scikit_learn(grown, holes):
    rows = cells(seed=1, holes=holes)
    assert {args[0] for _, args, _ in grown} == set(range(5))
    for model, (_, size, features, seen), ours in grown:
        inputs = _grow.Inputs(features, [c in seen for c in features], seen).encode(rows)
        theirs = model.predict_proba(inputs) if size else model.predict(inputs)[:, None]
        np.testing.assert_allclose(ours.guess(rows), theirs, rtol=1e-12, atol=1e-12)


def test_a_category_that_was_never_seen_goes_where_missing_cells_go():
    learnt = cells()
    learnt[learnt[:, 2] == 1, 2] = np.nan
    forest = Forest([*grow(raw(learnt), SCHEMA, seed=0)])
    new = cells(seed=1)
    missing = new.copy()
    new[:, 2], missing[:, 2] = 1.0, np.nan
    for d in (0, 1, 3, 4):
        np.testing.assert_array_equal(forest.guess(new, d), forest.guess(missing, d))
    assert (forest.guess(new, 2)[:, 1] == 0).all()  # and is never guessed


def test_trees_learn_what_depends_on_other_columns():
    forest, new = Forest([*grow(raw(cells(n=1_000)), SCHEMA, seed=0)]), cells(seed=1, holes=0.0)
    assert np.corrcoef(forest.guess(new, 0)[:, 0], new[:, 0])[0, 1] > 0.9
    assert (forest.guess(new, 2).argmax(1) == new[:, 2]).mean() > 0.75
    assert (forest.guess(new, 3).argmax(1) == new[:, 3]).mean() > 0.8
    np.testing.assert_allclose(forest.guess(new, 2).sum(1), 1.0)


def test_the_cell_itself_is_not_looked_at():
    forest, new = Forest([*grow(raw(cells()), SCHEMA, seed=0)]), cells(seed=1)
    for d in range(5):
        hidden = new.copy()
        hidden[:, d] = np.nan
        np.testing.assert_array_equal(forest.guess(new, d), forest.guess(hidden, d))


def test_trees_are_those_of_their_seed():
    one, same, other = ([*grow(raw(cells()), SCHEMA, seed=seed)] for seed in (0, 0, 1))
    assert all(np.array_equal(a.value, b.value) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a.value, b.value) for a, b in zip(one, other, strict=True))


def test_arrays_hold_all_there_is():
    forest, new = Forest([*grow(raw(cells()), SCHEMA, seed=0)]), cells(seed=1)
    again = Forest.of_arrays(forest.arrays())
    assert again.columns == forest.columns == set(range(5))
    for d in range(5):
        np.testing.assert_array_equal(again.guess(new, d), forest.guess(new, d))


def test_columns_that_cannot_be_learnt_have_no_trees():
    learnt = cells()
    learnt[:, 1] = 3.0  # constant
    learnt[40:, 4] = np.nan  # nearly empty
    assert Forest([*grow(raw(learnt), SCHEMA, seed=0)]).columns == {0, 2, 3}


def test_large_tables_have_fewer_models_and_rows(monkeypatch):
    assert len([*grow(raw(cells()), SCHEMA, seed=0)]) == 3 * 5
    monkeypatch.setattr(_grow, "WORK", 5 * 7 * 500)  # columns, outputs, rows
    seen, inside = [], _grow._seen_twice

    def count(*args):
        found = inside(*args)
        seen.append(len(found[0]))
        return found

    monkeypatch.setattr(_grow, "_seen_twice", count)
    assert len([*grow(raw(cells()), SCHEMA, seed=0)]) == 3 * 5
    assert max(seen) == 500
    monkeypatch.setattr(_grow, "WORK_OF_MODELS", 2 * 5 * 7 * 500)
    assert len([*grow(raw(cells()), SCHEMA, seed=0)]) == 2 * 5
    monkeypatch.setattr(_grow, "WORK_OF_MODELS", 0)
    assert len([*grow(raw(cells()), SCHEMA, seed=0)]) == 5


def test_guesses_do_not_depend_on_how_many_rows_are_asked_at_once(monkeypatch):
    forest, new = Forest([*grow(raw(cells()), SCHEMA, seed=0)]), cells(seed=1)
    whole = forest.guess(new, 0)
    monkeypatch.setattr("evenhand.tables.trees._boosted.AT_ONCE", 500)
    np.testing.assert_array_equal(forest.guess(new, 0), whole)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_numbers_and_rare_categories_give_finite_guesses(scale):
    learnt = cells()
    learnt[:, [0, 4]] *= scale
    learnt[:, 2] = np.where(learnt[:, 2] == 2, 1.0, learnt[:, 2])
    learnt[7, 2] = 2.0  # once
    forest = Forest([*grow(raw(learnt), SCHEMA, seed=0)])
    rows = cells(seed=1)
    rows[:, [0, 4]] *= scale
    for d in forest.columns:
        guess = forest.guess(rows, d)
        assert np.isfinite(guess).all()
    assert abs(forest.guess(rows, 0)).max() < 10 * scale
