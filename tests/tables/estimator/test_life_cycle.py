"""All models and objectives, from the table to the file and back."""

import time

import numpy as np
import pandas as pd
import pytest

from evenhand.common import Heartbeat
from evenhand.tables.estimator import TabularVAE

from ._tables import holes, same, table, tiny

VARIANTS = {
    "elbo": {},
    "iwae": {"objective": "iwae", "n_samples": 4},
    "dreg": {"objective": "dreg", "n_samples": 4},
    "hivae": {"model": "hivae", "n_latent": None},
    "vaem": {"model": "vaem"},
    "hivae with a method": {"model": "hivae", "n_latent": 3, "method": "imtlg>>pcgrad"},
    "dreg with a method": {"objective": "dreg", "n_samples": 2, "method": "gradnorm"},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_whole_life(variant, tmp_path):
    frame = table()
    estimator = tiny(**{"max_epochs": 5, **VARIANTS[variant]})
    estimator.fit(frame)
    filled, new, scores = estimator.transform(frame), estimator.sample(20), estimator.score_samples(frame)
    assert not holes(filled).any()
    assert not holes(new).any()
    assert np.isfinite(scores).all()
    assert np.isfinite(estimator.encode(frame)).all()
    assert not holes(estimator.reconstruct(frame)).any()
    assert (estimator.sample(4, given={"colour": "red"})["colour"] == "red").all()
    assert len(estimator.sample_posterior(frame, 2)) == 2
    assert len(estimator.report().columns) == frame.shape[1]
    estimator.save(tmp_path / "model")
    loaded = TabularVAE.load(tmp_path / "model")
    assert same(loaded.transform(frame), filled)
    assert same(loaded.sample(20), new)
    np.testing.assert_array_equal(loaded.score_samples(frame), scores)


@pytest.mark.parametrize("variant", VARIANTS)
def test_training_improves_the_density(variant):
    frame = table()
    options = {"lr": 0.01, "patience": 40, **VARIANTS[variant]}
    short, long = (tiny(**{**options, "max_epochs": n}).fit(frame).score(frame) for n in (1, 40))
    assert long > short


def test_a_fit_that_takes_long_says_so_before_it_trains(capsys, monkeypatch):
    """Preparing a large table takes long, too."""
    monkeypatch.setattr(Heartbeat.__init__, "__kwdefaults__", {"first": 0.05})
    monkeypatch.setattr(TabularVAE, "_fit", lambda self, X: time.sleep(0.15))
    for verbose, expected in (("auto", "fitting TabularVAE ..."), (False, "")):
        TabularVAE(verbose=verbose).fit(pd.DataFrame({"x": [1, 2, 3]}))
        assert capsys.readouterr().err.partition("\n")[0] == expected
