"""Log-densities of rows."""

import numpy as np
import pandas as pd
import pytest

from ._tables import LIBRARIES, columns, dependent, fitted, table, tiny, well_trained


@pytest.mark.parametrize("library", LIBRARIES)
def test_densities_are_numbers_one_for_each_row(library):
    scores = fitted(library).score_samples(table(library))
    assert scores.shape == (len(columns()["real"]),)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert fitted(library).score(table(library)) == pytest.approx(scores.mean())


def test_real_rows_are_more_probable_than_shuffled_ones():
    frame = dependent(200, seed=5)
    rng = np.random.default_rng(0)
    shuffled = frame.apply(lambda column: rng.permutation(column))
    real, broken = well_trained().score_samples(frame), well_trained().score_samples(shuffled)
    assert real.mean() > broken.mean() + 1
    assert np.median(real) > np.median(broken)


def test_densities_are_in_the_units_of_the_data():
    frame = dependent(150)
    larger = frame.assign(a=10 * frame["a"])
    few = {"max_epochs": 10, "lr": 0.01}
    scores = tiny(**few).fit(frame).score_samples(frame)
    scaled = tiny(**few).fit(larger).score_samples(larger)
    np.testing.assert_allclose(scaled, scores - np.log(10), atol=1e-3)


def test_positive_columns_have_densities_too():
    rng = np.random.default_rng(0)
    logs = rng.normal(2.0, 0.5, size=(400, 2))
    frame = pd.DataFrame(np.exp(logs), columns=["p", "q"])
    score = tiny(max_epochs=60, lr=0.02, kl_weight=1.0).fit(frame).score(frame)
    # two log-normal columns: minus their entropies
    truth = -2 * (0.5 * np.log(2 * np.pi * np.e * 0.25) + 2.0)
    assert score == pytest.approx(truth, abs=0.4)


def test_the_density_of_a_normal_column_is_found():
    x = np.random.default_rng(0).normal(3.0, 5.0, size=(500, 2))
    score = tiny(max_epochs=60, lr=0.02, kl_weight=1.0).fit(x).score(x)
    assert score == pytest.approx(-(np.log(2 * np.pi * np.e * 25)), abs=0.3)


def test_missing_cells_are_left_out():
    frame = dependent(50, seed=2)
    alone = frame.assign(b=np.nan, sign=None)
    # with a KL weight of 1, latent variables of the data are distributed like the prior
    estimator = tiny(n_hidden=16, kl_weight=1.0, max_epochs=60, lr=1e-2, batch_size=64).fit(dependent())
    scores = estimator.score_samples(alone)
    assert np.isfinite(scores).all()
    # the density of a standard normal column
    expected = -0.5 * np.log(2 * np.pi) - 0.5 * frame["a"] ** 2
    assert np.abs(scores - expected).mean() < 0.5
    nothing = estimator.score_samples(frame.assign(a=np.nan, b=np.nan, sign=None))
    assert np.abs(nothing).max() < 0.5  # log p of no cells is 0


@pytest.mark.parametrize(
    "options", [{}, {"model": "hivae", "n_latent": None}, {"model": "vaem"}], ids=["twoway", "hivae", "vaem"]
)
def test_rows_do_not_influence_each_other(options):
    frame, estimator = table(), fitted(**options)
    scores = estimator.score_samples(frame)
    np.testing.assert_allclose(estimator.score_samples(frame[::-1])[::-1], scores, rtol=1e-9)
    np.testing.assert_allclose(estimator.score_samples(frame[5:6]), scores[5:6], rtol=1e-9)


def test_more_samples_tighten_the_bound():
    frame = dependent(100, seed=4)
    few, many = (well_trained().score_samples(frame, n_samples=n).mean() for n in (1, 200))
    assert many > few
    with pytest.raises(ValueError, match="n_samples should be an integer >= 1. Found 0"):
        well_trained().score_samples(frame, n_samples=0)
