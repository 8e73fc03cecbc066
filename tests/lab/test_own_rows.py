"""Runs on rows and networks of users' own: with holes, with many modalities, with parts that do not learn."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from evenhand.datasets.judges import _judges
from evenhand.lab import run, write_page
from evenhand.lab._config import (
    MultimodalData,
    MultimodalEvaluation,
    MultimodalExperiment,
    MultimodalObjective,
    MultimodalTraining,
    SurvivalExperiment,
    SurvivalObjective,
    to_dict,
)

CODE = """
import math

import torch
from torch import nn

from evenhand.datasets import LabelledModalities, MultimodalDataset
from evenhand.modalities import Modalities, Modality, Normal


def rows(split, seed, names, share, behind):
    generator = torch.Generator().manual_seed(seed + 1000 * (split == "test"))
    label = torch.randint(3, (120,), generator=generator)
    values = {name: label[:, None] + 0.1 * torch.randn(120, 2, generator=generator) for name in names}
    seen = {name: torch.rand(120, generator=generator) < share[split] for name in names[1:]}
    first = torch.rand(120, generator=generator) < share[split]
    seen[names[0]] = first | ~torch.stack(list(seen.values())).any(0)
    for name in names:
        values[name][~seen[name]] = behind
    return LabelledModalities(Modalities(values, observed=seen), label, name="places")


def made(names):
    return lambda n_latent, *, n_layers, seed: {n: Modality(likelihood=Normal(0.1), shape=(2,)) for n in names}


def own(dropout=0.0, learns=True):
    def modalities(n_latent, *, n_layers, seed):
        def encoder():
            return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 2 * n_latent))

        def decoder():
            return nn.Linear(n_latent, 2).requires_grad_(learns)

        return {name: Modality(encoder(), decoder(), Normal(0.1)) for name in "ab"}

    return modalities


def dataset(modalities, names="ab", *, train=1.0, test=1.0, behind=0.0):
    share = {"train": train, "test": test}
    return MultimodalDataset("places", lambda s, *, seed: rows(s, seed, names, share, behind), modalities, n_latent=2)


holes = dataset(made("abc"), "abc", train=0.7, test=0.4)
nan_behind = dataset(made("ab"), train=0.7, test=0.7, behind=math.nan)
zeros_behind = dataset(made("ab"), train=0.7, test=0.7)
lost_in_test = dataset(made("ab"), train=0.7, test=-1.0)
seven = dataset(made("abcdefg"), "abcdefg")
fixed_decoder = dataset(own(learns=False))
dropout = dataset(own(0.3))
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """The file of the data sets in the folder where commands are typed, and classifiers that learn little."""
    (tmp_path / "places.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(_judges, "EPOCHS", 1)
    monkeypatch.setattr(_judges, "LEAST_STEPS", 1)


def experiment(name):
    return MultimodalExperiment(
        data=MultimodalData(f"places.py:{name}"),
        objective=MultimodalObjective("iwae", 2),
        training=MultimodalTraining(epochs=1, batch_size=32),
        evaluation=MultimodalEvaluation(rows=40),
    )


@pytest.mark.parametrize("name", ["holes", "lost_in_test", "seven", "fixed_decoder"])
def test_it_ends_with_a_report_and_a_page(name, tmp_path):
    folder = run(experiment(name), tmp_path / "runs")
    report = folder.report()
    assert all(np.isfinite(bound) for bound in report["bounds"].values())
    assert "NaN" not in json.dumps(report)
    assert (folder.path / "samples.png").is_file() == (name != "lost_in_test")  # no row there has all modalities
    assert len(report["scores"]["subsets"]) == {"holes": 7, "seven": 15}.get(name, 3)
    assert write_page(folder.path, tmp_path / "page.html").is_file()


def test_what_is_behind_a_hole_changes_nothing(tmp_path):
    first, second = (run(experiment(name), tmp_path / name).report() for name in ("nan_behind", "zeros_behind"))
    for report in (first, second):
        for scores in (report["scores"], report["validation"]):
            scores.pop("hours")
    for what in ("scores", "validation", "bounds", "experts"):
        assert first[what] == second[what]


def test_networks_of_users_start_from_the_seed(tmp_path):
    config = experiment("dropout")
    bounds = []
    for state in (1, 2):
        torch.manual_seed(state)
        bounds.append(run(config, tmp_path / str(state)).report()["bounds"])
    assert bounds[0] == bounds[1]
    other = replace(config, training=replace(config.training, seed=1))
    assert run(other, tmp_path / "3").report()["bounds"] != bounds[0]


def test_those_whose_survival_is_counted_too(tmp_path):
    config = SurvivalExperiment(
        data=MultimodalData("places.py:dropout"),
        objective=SurvivalObjective("loose", 0.0, 2),
        training=MultimodalTraining(epochs=1, batch_size=32),
    )
    bounds = []
    for state in (1, 2):
        torch.manual_seed(state)
        bounds.append(run(config, tmp_path / str(state)).report()["runs"][0]["bound"])
    assert bounds[0] == bounds[1]


def test_a_number_of_numpy_is_a_number():
    config = experiment("dropout")
    training = MultimodalTraining(epochs=np.int64(1), batch_size=np.int32(32), seed=np.int64(0))
    assert to_dict(replace(config, training=training)) == to_dict(config)
