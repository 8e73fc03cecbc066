"""What the direct way gives users: guesses, draws that belong together, exact numbers, and a simple rival beside."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import Ridge

from evenhand.tables import TabularVAE
from evenhand.tables.estimator._rival import STRENGTH, ridge_guess
from evenhand.tables.families import VAE
from evenhand.tables.frames import read
from evenhand.tables.schema import Schema
from evenhand.tables.stack import Preparation

from ._tables import dependent, fitted, same, table, tiny, well_trained


def test_the_way_is_chosen_on_hidden_cells():
    assert well_trained().direct_ in (0.5, 1.0)
    assert fitted(model="vae").direct_ == 0.0


def test_ridge_regression_leaves_a_columns_own_cells_out():
    frame = dependent(120)[["a", "b"]].assign(c=np.random.default_rng(1).normal(size=120))
    schema = Schema.infer(frame)
    raw = read(frame, schema)
    preparation = Preparation.fit(VAE, raw, schema, [np.arange(120)], [0])
    rows = preparation.rows(preparation.encode(raw))
    likelihood, index = preparation.likelihood(), torch.arange(120)
    found = ridge_guess(likelihood, rows, index, index, None)
    inputs = rows.split(rows.record)[0].double().numpy()
    for d, name in enumerate(frame.columns):
        own = rows.owners.numpy() == likelihood.order.index(d)
        x = np.concatenate([inputs[:, ~own], np.ones((120, 1))], 1)  # the penalty is on the intercept too
        y = frame[name].to_numpy()
        model = Ridge(alpha=STRENGTH, fit_intercept=False).fit(x, y - y.mean())
        expected = np.clip(model.predict(x) + y.mean(), y.min(), y.max())
        np.testing.assert_allclose(found[:, d].numpy(), expected, atol=1e-5)


def test_numbers_are_drawn_to_the_last_digit():
    rng = np.random.default_rng(0)
    prices = np.round(np.exp(rng.normal(8, 2, size=400)), 2)
    frame = pd.DataFrame({"price": prices, "size": np.log(prices) + rng.normal(size=400)})
    model = tiny(max_epochs=20).fit(frame)
    assert set(model.sample(500)["price"]) <= set(prices)
    holes = frame.mask(rng.random(frame.shape) < 0.3)
    for filled in model.sample_posterior(holes, 3):
        assert set(filled["price"]) <= set(prices)


def test_draws_belong_together():
    """The two halves of a pair say the same; draws of both must agree far more often than by chance."""
    rng = np.random.default_rng(0)
    side = rng.choice(["left", "right"], size=600)
    frame = pd.DataFrame({"hand": side, "foot": side, "age": rng.normal(40, 10, size=600)})
    model = tiny(n_hidden=32, max_epochs=60, lr=1e-2, batch_size=64).fit(frame)
    for filled in (model.sample(300), model.sample_posterior(frame.assign(hand=None, foot=None), 1)[0]):
        assert (filled["hand"] == filled["foot"]).mean() > 0.9
        assert 0.3 < (filled["hand"] == "left").mean() < 0.7


def test_median_and_mode_of_a_skewed_column_are_below_its_mean():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": np.exp(rng.normal(0, 1.5, size=2000)), "x": rng.normal(size=2000)})
    holes = frame.assign(income=np.nan)
    options = {"max_epochs": 30, "batch_size": 100, "lr": 1e-2}
    guesses = {
        how: tiny(**options, aggregate=how).fit(frame).transform(holes)["income"].mean()
        for how in ("mean", "median", "mode")
    }
    assert guesses["median"] < 0.7 * guesses["mean"]
    assert guesses["median"] == pytest.approx(frame["income"].median(), rel=0.5)


def test_a_saved_model_draws_and_guesses_the_same(tmp_path):
    model, frame = well_trained(), dependent(50, seed=3, missing=0.4)
    model.save(tmp_path / "model")
    again = TabularVAE.load(tmp_path / "model")
    assert same(again.transform(frame), model.transform(frame))
    assert same(again.sample(20), model.sample(20))
    assert again.direct_ == model.direct_


def test_a_table_of_one_column_is_guessed_by_its_mean():
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(5.0, 1.0, size=300)})
    model = tiny(max_epochs=30).fit(frame)
    filled = model.transform(pd.DataFrame({"x": [np.nan, 3.0]}))
    assert filled["x"][0] == pytest.approx(5.0, abs=0.4)
    assert filled["x"][1] == 3.0
    assert model.sample(200)["x"].std() == pytest.approx(1.0, abs=0.3)


def test_columns_of_one_kind_only():
    frame = table()
    for columns in (["real", "positive"], ["flag", "colour", "text"]):
        model = tiny().fit(frame[columns])
        assert not model.transform(frame[columns]).isna().any(axis=None)
        assert len(model.sample(7)) == 7


def test_ridge_regression_is_left_out_where_it_costs_too_much(monkeypatch):
    monkeypatch.setattr("evenhand.tables.estimator._fitting.MOST_INPUTS", 2)
    report = tiny().fit(dependent(100)).report()
    assert not any("ridge_error" in column for column in report.columns)
    assert "ridge" not in str(report).replace("    ridge", "")
