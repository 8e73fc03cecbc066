"""Cells that are missing because of what they hold."""

import functools

import numpy as np
import pandas as pd
import pytest
import torch

from evenhand.tables import TabularVAE
from evenhand.tables.estimator._masking import LEAST, NEVER, _scores, log_odds

from ._tables import same, tiny

CORRELATION, SLOPE, THRESHOLD = 0.7, 2.0, 1.0
GRID = np.linspace(-7, 7, 2001)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gaussian(n=3000, seed=0):
    """Two correlated numbers; the second is missing more often where it is large. With it whole, and which cells."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = CORRELATION * x + np.sqrt(1 - CORRELATION**2) * rng.normal(size=n)
    gone = rng.random(n) < sigmoid(SLOPE * y - THRESHOLD)
    return pd.DataFrame({"x": x, "y": np.where(gone, np.nan, y)}), y, gone


def expected_if_missing(x):
    """E[y | x, missing], by summing over a grid."""
    density = np.exp(-((GRID - CORRELATION * x[:, None]) ** 2) / 2 / (1 - CORRELATION**2))
    density *= sigmoid(SLOPE * GRID - THRESHOLD)
    return (density * GRID).sum(1) / density.sum(1)


@functools.cache
def fitted(missing):
    options = {"n_hidden": 64, "n_layers": 2, "kl_weight": 1.0, "max_epochs": 60, "lr": 3e-3, "batch_size": 128}
    return tiny(**options, missing=missing).fit(gaussian()[0])


def observed_only(n, eta, seed=0, strength=2.0):
    """Rows of a column with given log-odds of being missing: log p(x | rest, observed), which are, and the truth."""
    rng = np.random.default_rng(seed)
    p = np.exp(strength * rng.normal(size=(n, len(eta))))
    p /= p.sum(1, keepdims=True)  # p(x | rest), known exactly
    x = (p.cumsum(1) > rng.random((n, 1))).argmax(1)
    missing = rng.random(n) < sigmoid(eta[x])
    if_observed = p * sigmoid(-eta)
    if_observed /= if_observed.sum(1, keepdims=True)
    if_missing = p * sigmoid(eta)
    if_missing /= if_missing.sum(1, keepdims=True)
    return torch.tensor(if_observed).log(), torch.tensor(missing), torch.tensor(if_missing), torch.tensor(p)


def test_log_odds_are_found_where_the_truth_is_known():
    eta = np.array([-2.0, 0.5, -0.5, 1.0])
    outcomes, missing, _, _ = observed_only(20_000, eta)
    found = log_odds(outcomes, missing, ordered=False).numpy()
    np.testing.assert_allclose(found, eta, atol=0.3)


def test_log_odds_of_numbers_are_linear_in_their_scores():
    eta = np.linspace(-2.5, 1.0, 8)
    outcomes, missing, _, _ = observed_only(20_000, eta)
    found = log_odds(outcomes, missing, ordered=True).numpy()
    assert np.corrcoef(found, _scores(outcomes[~missing])[:, 0])[0, 1] > 0.999999
    np.testing.assert_allclose(found, eta, atol=0.6)  # nearly linear in those scores


def test_log_odds_turn_what_is_observed_into_what_is_missing():
    eta = np.array([-2.0, 0.5, -0.5, 1.0])
    outcomes, _, if_missing, anyhow = observed_only(50, eta)
    odds = torch.tensor(eta)
    torch.testing.assert_close((outcomes + odds).softmax(1), if_missing)
    torch.testing.assert_close((outcomes + torch.nn.functional.softplus(odds)).softmax(1), anyhow)


@pytest.mark.parametrize("ordered", [True, False])
def test_what_is_missing_by_chance_or_cannot_be_told_changes_nothing(ordered):
    by_chance = observed_only(5000, np.full(5, -1.0))
    assert np.ptp(log_odds(*by_chance[:2], ordered=ordered).numpy()) == 0
    unpredictable = observed_only(5000, np.array([-2.0, -1, 0, 1, 2]), strength=0.0)
    assert np.ptp(log_odds(*unpredictable[:2], ordered=ordered).numpy()) == 0


def test_a_column_that_is_hardly_ever_missing_is_left_alone():
    outcomes, missing, _, _ = observed_only(500, np.array([-1.0, 3.0]))
    missing[missing.nonzero()[LEAST - 1 :]] = False
    assert (log_odds(outcomes, missing, ordered=False) == NEVER).all()


def test_guesses_are_near_the_expectation_of_what_is_missing():
    frame, _, gone = gaussian()
    truth = expected_if_missing(frame["x"].to_numpy()[gone])
    away = {m: fitted(m).transform(frame)["y"][gone] - truth for m in ("at_random", "not_at_random")}
    assert away["at_random"].mean() < -0.6  # too small, because the large ones are missing
    assert abs(away["not_at_random"].mean()) < 0.2
    assert np.sqrt((away["not_at_random"] ** 2).mean()) < 0.6 * np.sqrt((away["at_random"] ** 2).mean())


@pytest.mark.parametrize("how", ["median", "mode"])
def test_medians_and_modes_move_too(how):
    frame, _, gone = gaussian()
    model = fitted("not_at_random")
    means = {}
    for aggregate in (how, "mean"):
        model.set_params(aggregate=aggregate)
        means[aggregate] = model.transform(frame)["y"][gone].mean()
    assert means[how] > fitted("at_random").transform(frame)["y"][gone].mean() + 0.3


def test_draws_and_new_rows_have_the_distribution_of_the_whole_table():
    frame, y, _ = gaussian()
    for missing, near in (("at_random", False), ("not_at_random", True)):
        drawn = np.mean([t["y"].mean() for t in fitted(missing).sample_posterior(frame, 5)])
        new = fitted(missing).sample(4000)["y"].mean()
        assert (abs(drawn - y.mean()) < 0.12) == near
        assert (abs(new - y.mean()) < 0.15) == near
        given = fitted(missing).sample(4000, given={"x": 0.0})["y"].mean()
        assert (abs(given) < 0.2) == near


def test_the_effect_is_reported():
    by_name = {c["column"]: c["missing_effect"] for c in fitted("not_at_random").columns_}
    assert by_name["x"] == 0
    assert 6 < by_name["y"] < 15
    words = str(fitted("not_at_random").report())
    assert "'y' is missing more often where it is large" in words
    assert "missing more often" not in str(fitted("at_random").report())
    assert "missing_effect" not in fitted("at_random").columns_[0]


def test_chance_alone_gives_what_at_random_gives():
    rng = np.random.default_rng(0)
    frame = gaussian()[0].assign(y=gaussian()[1]).mask(rng.random((3000, 2)) < 0.2)
    guesses = [tiny(missing=m).fit(frame).transform(frame) for m in ("at_random", "not_at_random")]
    assert same(*guesses)


def test_categories_that_are_kept_silent_are_guessed_more_often():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    answer = np.where(x + rng.normal(size=3000) > 0, "yes", "no")
    gone = rng.random(3000) < np.where(answer == "yes", 0.7, 0.1)
    frame = pd.DataFrame({"x": x, "answer": pd.Series(answer).mask(gone)})
    options = {"n_hidden": 16, "max_epochs": 30, "lr": 1e-2}
    wrong = {}
    for missing in ("at_random", "not_at_random"):
        filled = tiny(**options, missing=missing).fit(frame).transform(frame)
        wrong[missing] = (filled["answer"][gone] != answer[gone]).mean()
    assert wrong["not_at_random"] < 0.6 * wrong["at_random"]


def test_a_file_holds_the_log_odds(tmp_path):
    model, (frame, _, _) = fitted("not_at_random"), gaussian()
    model.save(tmp_path / "model")
    loaded = TabularVAE.load(tmp_path / "model")
    assert loaded.missing == "not_at_random"
    assert same(loaded.transform(frame), model.transform(frame))
    assert same(loaded.sample_posterior(frame, 1)[0], model.sample_posterior(frame, 1)[0])
    assert same(loaded.sample(20), model.sample(20))


def test_models_without_a_direct_way_are_refused():
    with pytest.raises(ValueError, match="missing should be 'at_random' with model='vae'"):
        tiny(model="vae", missing="not_at_random").fit(gaussian()[0])
    with pytest.raises(ValueError, match="missing should be"):
        tiny(missing="by_chance").fit(gaussian()[0])
