"""Network, trees and means: who is asked about a hidden cell, and how much everyone counts."""

import functools

import numpy as np
import pandas as pd
import pytest
import torch

from evenhand.tables import Schema, TabularVAE
from evenhand.tables.estimator import _growing, _held_out
from evenhand.tables.estimator._held_out import HeldOut
from evenhand.tables.estimator._opinions import (
    CONSTANT,
    NETWORK,
    TREES,
    Opinions,
    as_targets,
    ask_trees,
    frequencies,
    weigh,
)
from evenhand.tables.frames import read
from evenhand.tables.stack import Preparation
from evenhand.tables.trees import MOST_COLUMNS

from ._tables import same, tiny


def stairs(n=400, seed=0, missing=0.1):
    """A number and a class that jump where another number passes a step: easy for trees, hard for a tiny network."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    step = np.floor(8 * x)
    odd = np.where(step % 2 == 1, "odd", "even")
    frame = pd.DataFrame({"x": x, "height": (step * 5) % 8 + 0.01 * rng.normal(size=n), "side": odd})
    return frame.mask(rng.random(frame.shape) < missing)


@functools.cache
def with_trees(**changes):
    return tiny(**{"trees": True, **changes}).fit(stairs())


def likelihood_of(frame):
    schema = Schema.infer(frame)
    raw = read(frame, schema)
    preparation = Preparation.fit(type(with_trees().network_), raw, schema, [np.arange(len(frame))], [0])
    return preparation.likelihood(), raw


def errors(model):
    new = stairs(seed=1, missing=0.0)
    filled = model.transform(new.assign(height=np.nan, side=None))
    return np.std(filled["height"] - new["height"]), (filled["side"] != new["side"]).mean()


def test_trees_guess_what_a_network_cannot():
    number, category = errors(with_trees())
    alone = errors(with_trees(trees=False))
    assert number < 0.7 * alone[0]
    assert category < 0.7 * alone[1]
    shares = {c["column"]: c["trees"] for c in with_trees().columns_}
    assert shares["height"] > 0.8
    assert shares["side"] > 0.8


def test_without_trees_nobody_asks_them():
    model = with_trees(trees=False)
    assert model._fitted.opinions.forest is None
    assert all(c["trees"] == 0 for c in model.columns_)


def test_draws_come_from_the_network_alone():
    holes = stairs(seed=2, missing=0.3)
    with_them, without = (with_trees(trees=trees).sample_posterior(holes, 2) for trees in (True, False))
    assert all(same(a, b) for a, b in zip(with_them, without, strict=True))


def test_a_file_holds_the_trees(tmp_path):
    model = with_trees()
    model.save(tmp_path / "model")
    loaded, holes = TabularVAE.load(tmp_path / "model"), stairs(seed=2, missing=0.3)
    assert same(loaded.transform(holes), model.transform(holes))
    assert not loaded.transform(holes).equals(with_trees(trees=False).transform(holes))
    np.testing.assert_array_equal(loaded.shrinkage_, model.shrinkage_)


def test_trees_are_those_of_the_random_state():
    holes = stairs(seed=2, missing=0.3)
    again, other = (tiny(trees=True, random_state=seed).fit(stairs()).transform(holes) for seed in (0, 1))
    assert same(again, with_trees().transform(holes))
    assert not other.equals(again)


@pytest.mark.parametrize("how", ["median", "mode"])
def test_medians_and_modes_of_numbers_are_the_networks(how):
    model = with_trees(aggregate=how)
    weights = dict(zip(model.schema_.names, model._fitted.opinions.weights.T, strict=True))
    assert weights["height"].tolist() == weights["x"].tolist() == [1, 0, 0]
    assert weights["side"][TREES] > 0.8


def test_few_rows_one_column_or_very_many_have_no_trees():
    rng = np.random.default_rng(0)
    for frame in (stairs(60), stairs()[["x"]], rng.normal(size=(120, MOST_COLUMNS + 1))):
        assert tiny(trees=True, max_epochs=1).fit(frame)._fitted.opinions.forest is None


def test_trees_keep_to_the_time():
    model = tiny(trees=True, max_seconds=0.01).fit(stairs())
    assert len(model._fitted.opinions.forest.models) == 1


def test_interrupted_trees_are_kept(monkeypatch):
    grow = _growing.grow

    def interrupted(*args, **options):
        models = grow(*args, **options)
        yield next(models)
        raise KeyboardInterrupt

    monkeypatch.setattr(_growing, "grow", interrupted)
    with pytest.warns(UserWarning, match="the trees that are grown by now are kept"):
        model = tiny(trees=True).fit(stairs())
    assert len(model._fitted.opinions.forest.models) == 1


def test_weights_have_the_least_squared_error():
    frame = stairs(missing=0.0)
    likelihood, raw = likelihood_of(frame)
    truth, scored = torch.tensor(raw.values), torch.tensor(raw.observed)
    target = as_targets(likelihood, truth)
    noise = torch.randn(2, *target.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for quiet, who in ((0, NETWORK), (1, TREES)):
        scale = torch.tensor([3.0, 3.0]).index_fill(0, torch.tensor(quiet), 0.0)
        opinions = torch.stack([*(target + scale[:, None, None] * noise), target.mean(0).expand_as(target)])
        asked = np.array([True, True, True])
        assert (weigh(likelihood, opinions, truth, scored, asked)[who] == 1).all()
    both = torch.stack([*(target + noise), target + 100.0])
    weights = weigh(likelihood, both, truth, scored, np.array([True, False, True]))
    np.testing.assert_allclose(weights.sum(0), 1.0)
    assert (abs(weights[TREES, [0, 2]] - 0.5) < 0.15).all()  # two that are equally wrong, each in its own way
    assert weights[TREES, 1] == 0  # has no trees
    assert (weights[CONSTANT] == 0).all()


def test_nothing_to_choose_by_leaves_the_network_alone():
    likelihood, raw = likelihood_of(stairs(missing=0.0))
    truth = torch.tensor(raw.values)
    opinions = torch.zeros(3, *as_targets(likelihood, truth).shape, dtype=torch.float64)
    weights = weigh(likelihood, opinions, truth, torch.zeros_like(truth, dtype=torch.bool), np.full(3, True))
    assert (weights[NETWORK] == 1).all()


def test_frequencies_are_those_of_observed_cells():
    frame = stairs()
    likelihood, raw = likelihood_of(frame)
    trivial, values, observed = (
        torch.tensor([0.25, 2.0, 1.0]).double(),
        *map(torch.tensor, (raw.values, raw.observed)),
    )
    side = raw.values[raw.observed[:, 2], 2].mean()
    assert 0.3 < side < 0.7
    found = frequencies(likelihood, trivial, values, observed).tolist()
    assert sorted(found) == pytest.approx(sorted([0.25, 2.0, side]))
    nothing = frequencies(likelihood, trivial, values, torch.zeros_like(observed)).tolist()
    assert sorted(nothing) == [0.25, 1.0, 2.0]  # the mode, where there is nothing to count


def test_trees_are_asked_only_where_they_are_wanted():
    model, holes = with_trees(), stairs(seed=2, missing=0.0)
    raw = read(holes, model.schema_)
    asked = np.zeros(raw.observed.shape, bool)
    asked[3, 1] = True
    cells = np.where(asked, np.nan, raw.values)
    said = ask_trees(model._fitted.opinions.forest, model.network_.likelihood, cells, asked)
    assert said.count_nonzero() == 1
    assert said[3].abs().max() == pytest.approx(holes["height"][3], abs=0.5)


def test_what_older_files_say_is_the_way_from_the_mean_to_the_network():
    likelihood, raw = likelihood_of(stairs(missing=0.0))
    trivial, network = np.array([0.5, 3.0, 1.0]), as_targets(likelihood, torch.tensor(raw.values))
    opinions = Opinions.of_shrinkage(np.array([0.25, 1.0, 0.0]), trivial, likelihood)
    nothing = np.zeros(raw.values.shape, bool)
    guess = likelihood.decide(opinions.settle(likelihood, network, raw.values, nothing)).numpy()
    np.testing.assert_allclose(guess[:, 0], trivial[0] + 0.25 * (raw.values[:, 0] - trivial[0]))
    np.testing.assert_allclose(guess[:, 1], raw.values[:, 1])
    assert (guess[:, 2] == trivial[2]).all()


def held_out_of(raw, schema):
    limits = np.stack([raw.values.min(0), raw.values.max(0)])
    return HeldOut(raw, np.arange(100), schema, limits, rate=0.3, seed=0, device=torch.device("cpu"))


def leaves_its_mode(better, *, closer=False):
    """Whether a class is guessed that is right in some rows where the mode is not, and wrong in two others."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "y": rng.normal(size=400), "side": rng.choice(["a", "b"], 400)})
    likelihood, raw = likelihood_of(frame)
    held_out = held_out_of(raw, likelihood.schema)
    truth = torch.tensor(raw.values)[held_out.index]
    mode, side = np.round(raw.values[:, 2].mean()), raw.values[:100, 2]
    others = [*np.flatnonzero(side != mode)[:better], *np.flatnonzero(side == mode)[:2]]  # better there, worse in two
    network = truth.clone()
    network[:, 2] = torch.where(torch.isin(held_out.index, torch.tensor(others)), 1 - mode, mode)
    network, mean = (as_targets(likelihood, x) for x in (network, truth.mean(0).expand_as(truth).clone()))
    mean[:, 2] = abs(mode - 0.4)  # the mode with a probability of 0.6
    if closer:  # right as often, but surer where it is right
        network[:, 2] = torch.where(network[:, 2] == truth[:, 2], truth[:, 2], abs(truth[:, 2] - 0.51))
    opinions = torch.stack([network, network, mean])
    weights = held_out.weigh(likelihood, opinions, np.full(3, False))
    guess = Opinions(weights, opinions[CONSTANT, 0].numpy()).decide(likelihood, *opinions[:CONSTANT])
    assert (weights[CONSTANT, :2] == 0).all()
    return bool((guess[:, 2] != mode).any())


def test_categories_need_more_than_chance_to_leave_their_mode():
    assert not leaves_its_mode(3)
    assert leaves_its_mode(30)
    assert leaves_its_mode(3, closer=True)


def test_a_large_gain_need_not_be_proved(monkeypatch):
    monkeypatch.setattr(_held_out, "RIGHT", 100.0)
    monkeypatch.setattr(_held_out, "CLOSER", 100.0)
    assert leaves_its_mode(30)
    monkeypatch.setattr(_held_out, "SMALL", 1.0)
    assert not leaves_its_mode(30)


def test_the_evidence_of_a_row_counts_once():
    frame = pd.DataFrame({"x": np.arange(400.0), "y": np.arange(400.0), "side": np.tile(["a", "b"], 200)})
    likelihood, raw = likelihood_of(frame)
    held_out = held_out_of(raw, likelihood.schema)
    truth = torch.tensor(raw.values)[held_out.index]
    wrong = 1 - truth
    right_in = held_out.index < 20
    guess = torch.where(right_in[:, None], truth, wrong)
    losses = [held_out._wrong(likelihood, as_targets(likelihood, x)) for x in (guess, wrong)]
    gain, noise = held_out._gain(losses[0] - losses[1])
    hidden, rows = held_out._hidden[:, 2].numpy(), held_out.index.numpy()
    by_row = np.array([[(hidden & (rows == r)).sum() * (r < 20), (hidden & (rows == r)).sum()] for r in range(100)])
    share = by_row[:, 0].sum() / by_row[:, 1].sum()
    assert float(gain[2]) == pytest.approx(share)
    expected = np.sqrt(((by_row[:, 0] - share * by_row[:, 1]) ** 2).sum()) / by_row[:, 1].sum()
    assert float(noise[2]) == pytest.approx(expected)
