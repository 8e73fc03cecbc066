"""Which cell to ask for next: the face of the reward, which has tests of its own."""

import math

import numpy as np
import pandas as pd
import pytest

from evenhand.tables.estimator import TabularVAE

from ._tables import FRAMES, fitted, table, tiny


@pytest.fixture(scope="module")
def model():
    """y follows "near" closely and "some" a little; "far" has nothing to do with it."""
    rng = np.random.default_rng(0)
    near = rng.normal(size=400)
    frame = pd.DataFrame(
        {
            "far": rng.normal(size=400),
            "some": np.where(near + 2 * rng.normal(size=400) > 0, "high", "low"),
            "near": near,
            "y": near + 0.2 * rng.normal(size=400),
        }
    )
    options = {"method": "sum", "kl_weight": 1.0, "hide": 0.5, "n_hidden": 32, "n_layers": 1, "lr": 5e-3}
    return TabularVAE(model="vaem", max_epochs=600, random_state=0, **options).fit(frame), frame


def test_the_cell_that_tells_most_comes_first(model):
    estimator, frame = model
    blank = frame.head(3).assign(near=np.nan, far=np.nan, y=np.nan, some=None)
    for wish in estimator.acquire(blank, "y", budget=3):
        assert next(iter(wish)) == "near"
        assert wish["near"] > 0.3
        assert abs(wish["far"]) < 0.1
        assert list(wish.values()) == sorted(wish.values(), reverse=True)
        assert wish["some"] < wish["near"]


def test_a_budget_names_the_best(model):
    estimator, frame = model
    blank = frame.head(3).assign(near=np.nan, far=np.nan, y=np.nan)
    assert [len(wish) for wish in estimator.acquire(blank, "y")] == [1] * 3
    assert [set(wish) for wish in estimator.acquire(blank, "y", 10)] == [{"near", "far"}] * 3


def test_nothing_is_asked_where_the_target_is_known(model):
    estimator, frame = model
    rows = frame.head(2).assign(near=np.nan)
    rows.loc[0, "y"] = np.nan
    assert [list(wish) for wish in estimator.acquire(rows, "y", 5)] == [["near"], []]
    assert estimator.acquire(frame.head(2), "y") == [{}, {}]


def test_chance_is_repeated_unless_told_otherwise(model):
    estimator, frame = model
    blank = frame.head(3).assign(near=np.nan, far=np.nan, y=np.nan)
    first, again, other = (estimator.acquire(blank, "y", 3, random_state=s) for s in (None, None, 5))
    assert first == again != other


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("options", [{"model": "twoway"}, {"model": "vae"}, {"model": "vaem"}], ids=str)
def test_frames_of_every_library(library, options):
    found = fitted(library, **options).acquire(table(library), "real", budget=20, n_samples=3)
    assert len(found) == len(table(library))
    assert all(math.isfinite(nats) for wish in found for nats in wish.values())
    assert any(found)
    assert all("real" not in wish for wish in found)


def test_mistakes_are_named(model):
    estimator, frame = model
    with pytest.raises(ValueError, match="target should be one of the columns 'far', 'some', 'near', 'y'. Found 'z'"):
        estimator.acquire(frame, "z")
    with pytest.raises(ValueError, match="budget should be an integer >= 1. Found 0"):
        estimator.acquire(frame, "y", 0)
    with pytest.raises(ValueError, match="n_samples should be"):
        estimator.acquire(frame, "y", n_samples=0)
    with pytest.raises(ValueError, match=r"model should be one whose q\(z\|x\) is Gaussian. Found 'hivae'"):
        tiny(model="hivae", n_latent=None).fit(table()).acquire(table(), "real")
