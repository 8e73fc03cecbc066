"""An estimator that holds a rate."""

import warnings

import numpy as np
import pytest

from evenhand.tables.estimator import TabularVAE

from ._tables import table, tiny

LONG = {"max_epochs": 150, "lr": 5e-3, "n_hidden": 24, "n_latent": 4, "batch_size": 32, "patience": 40}


def numbers(n=400, seed=0):
    """Six columns that depend on three hidden numbers."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(n, 6))


@pytest.mark.parametrize(("model", "rate"), [("twoway", 3), ("vae", 3), ("hivae", 3), ("vaem", 3)])
def test_the_report_says_the_rate_that_was_asked_for(model, rate):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = tiny(model=model, kl_weight=f"rate:{rate}", **LONG).fit(numbers())
    assert fitted.rate_ == pytest.approx(rate, rel=0.03)
    assert isinstance(fitted.kl_weight_, float)
    assert fitted.selection_[0]["kl_weight"] == f"rate:{rate}"
    last = fitted.history_[-1]
    assert last["candidates"] == [0]
    assert last["kl_weights"][0] == pytest.approx(fitted.kl_weight_)
    assert last["rates"][0] == pytest.approx(rate, rel=0.4)
    assert f"KL weight {fitted.kl_weight_:g}; a row leaves {fitted.rate_:.1f} nats" in str(fitted.report())


def test_methods_are_compared_at_one_rate():
    fitted = tiny(model="vae", method=["sum", "imtlg", "pcgrad"], kl_weight="rate:3", **LONG).fit(numbers())
    assert fitted.rate_ == pytest.approx(3.0, rel=0.03)
    assert [s["kl_weight"] for s in fitted.selection_] == ["rate:3"] * 3


def test_rates_and_weights_in_one_list():
    fitted = tiny(kl_weight=["rate:1", 0.5], max_epochs=4).fit(table())
    assert [s["kl_weight"] for s in fitted.selection_] == ["rate:1", 0.5]
    assert fitted.selection_[1]["weight"] == 0.5


def test_a_rate_that_is_not_reached_is_said():
    with pytest.warns(
        UserWarning, match=r"should be 60 nats per row\. Found .* at KL weight .* Ask for a lower rate"
    ):
        tiny(kl_weight="rate:60", max_epochs=4).fit(table())


def test_it_is_saved(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = tiny(kl_weight="rate:1", max_epochs=4).fit(table())
    fitted.save(tmp_path / "model.safetensors")
    other = TabularVAE.load(tmp_path / "model.safetensors")
    assert (other.kl_weight, other.kl_weight_, other.history_) == ("rate:1", fitted.kl_weight_, fitted.history_)


def test_no_warm_up():
    with pytest.raises(ValueError, match="kl_warm_up should be 0 where kl_weight holds a rate"):
        tiny(kl_weight="rate:3", kl_warm_up=1).fit(table())
