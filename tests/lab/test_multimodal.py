"""One multimodal run: what it reports, what it leaves in its directory, and that it can be stopped at any moment."""

import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from evenhand.datasets import multimodal
from evenhand.datasets.judges import _judges as _digit_classifiers
from evenhand.lab import MultimodalScores, _multimodal
from evenhand.lab._config import (
    Impartiality,
    MultimodalData,
    MultimodalEvaluation,
    MultimodalExperiment,
    MultimodalModel,
    MultimodalObjective,
    MultimodalTraining,
    from_dict,
    to_dict,
)
from evenhand.lab._folder import Folder
from evenhand.lab._multimodal import build_model, run_multimodal
from evenhand.lab._paper_multimodal import multimodal_jobs
from evenhand.modalities.estimator import MultimodalVAE

STEPS = 9  # of the tiny run: 72 training rows in batches of 8
TINY = MultimodalExperiment(
    data=MultimodalData("digits_in_three", rows=80),
    objective=MultimodalObjective("siwae", n_samples=2),
    training=MultimodalTraining(epochs=1, batch_size=8),
    evaluation=MultimodalEvaluation(rows=40),
)
IMPARTIAL = replace(TINY, impartial=Impartiality(("LI", "EEI", "DEI"), "gradnorm", 0.5))


@pytest.fixture(autouse=True, scope="module")
def _cheap_judges(tmp_path_factory):
    """Classifiers that have learnt next to nothing, in a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(_digit_classifiers, "EPOCHS", 1)
        patch.setattr(_digit_classifiers, "LEAST_STEPS", 1)
        yield


@pytest.fixture(autouse=True)
def _no_picture(monkeypatch):
    """As if matplotlib were missing, but for the module's own run: drawing takes seconds."""

    def missing(*args, **kwargs):
        raise ImportError("sample_grid needs matplotlib")

    monkeypatch.setattr(_multimodal, "sample_grid", missing)


def start(config, root, tick=lambda epochs, words: None, **options):
    folder = Folder(root, config)
    folder.begin()
    return folder, run_multimodal(config, folder, device=torch.device("cpu"), tick=tick, save_steps=2, **options)


def load(config):
    return _multimodal._load(config, multimodal(config.data.name))


def numbers(report):
    """What must not depend on when a run was interrupted."""
    scores = [{k: v for k, v in report[name].items() if k != "hours"} for name in ("scores", "validation")]
    return [*scores, report["sentences"], report["data"]]


def history(folder):
    return json.loads((folder.path / "history.json").read_text())["rows"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An impartial run without interruption: its directory, its report, and its ticks."""
    before, ticks = torch.get_default_dtype(), []
    torch.set_default_dtype(torch.float64)
    folder, report = start(IMPARTIAL, tmp_path_factory.mktemp("whole"), lambda *tick: ticks.append(tick))
    torch.set_default_dtype(before)
    return folder, report, ticks


def test_the_report_has_what_the_contract_says(whole):
    _, report, _ = whole
    parts = ["experiment", "name", "config", "data", "scores", "validation", "bounds", "sentences", "experts"]
    assert list(report) == [*parts, "seconds"]
    assert all(math.isfinite(report["bounds"][name]) for name in ("test", "validation"))
    experts = report["experts"]
    assert experts["names"] == ["digit", "colour", "text"]
    assert len(experts["steps"]) == len(experts["share"]) == len(experts["rate"]) > 0
    assert all(sum(shares) == pytest.approx(1) for shares in experts["share"])
    assert len(experts["gradient_norm"]) == len(experts["effective_experts"]) == len(experts["steps"])
    assert all(norm > 0 for norms in experts["gradient_norm"] for norm in norms)
    assert experts["modalities"] == experts["names"]
    assert [len(told) for told in experts["log_likelihood_from"]] == [3, 3, 3]
    assert report["experiment"] == "multimodal"
    assert report["name"] == "digits_in_three-mmvae-siwae-li-eei-dei-gradnorm0.5-0"
    assert from_dict(report["config"]) == IMPARTIAL
    assert report["data"]["name"] == "digits_in_three"
    assert report["data"]["modalities"] == ["digit", "colour", "text"]
    assert [report["data"][f"{part}rows"] for part in ("", "train_", "validation_")] == [80, 72, 8]
    assert report["sentences"]
    assert all(isinstance(text, str) for text in report["sentences"])
    assert set(report["seconds"]) == {"training", "evaluation"}
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_scores_are_of_test_and_of_validation_rows(whole):
    _, report, _ = whole
    test, validation = (MultimodalScores.from_dict(report[name]) for name in ("scores", "validation"))
    assert (test.n_rows, validation.n_rows) == (40, 8)
    assert test.to_dict() == report["scores"]
    for scores in (test, validation):
        assert len(scores.coherence) == 21
        assert 0 <= scores.latent_cross <= 1
        assert 0 <= scores.joint_coherence <= 1
        assert scores.hours > 0
    assert test.rates != validation.rates


def test_the_directory_has_weights_history_and_a_picture(whole):
    folder, report, _ = whole
    assert {p.name for p in folder.path.iterdir()} - {"checkpoint.pt"} == {
        "config.toml", "history.json", "model.safetensors", "samples.png",
    }  # fmt: skip
    assert (folder.path / "samples.png").read_bytes().startswith(b"\x89PNG")
    assert history(folder)[-1]["epoch"] == 1
    assert "validation" in history(folder)[-1]
    model = build_model(IMPARTIAL).load(folder.path / "model.safetensors")
    assert len(model.codes) == report["data"]["train_rows"]


def test_ticks_add_up_to_the_epochs(whole):
    _, _, ticks = whole
    assert sum(epochs for epochs, _ in ticks) == pytest.approx(1)
    assert ticks[0][1].startswith("epoch 1/1, bound ")
    assert ticks[-1] == (0, "scoring validation rows")


def test_without_matplotlib_there_is_no_picture(tmp_path):
    folder = Folder(tmp_path, TINY)
    folder.begin()
    _multimodal._draw(build_model(TINY), load(TINY).test, folder)
    assert [p.name for p in folder.path.iterdir()] == ["config.toml"]


def test_goals_and_seeds_change_the_numbers(whole, tmp_path):
    _, plain = start(TINY, tmp_path)
    other = replace(IMPARTIAL, training=replace(TINY.training, seed=1))
    _, reseeded = start(other, tmp_path)
    log_likelihoods = [r["scores"]["log_likelihoods"] for r in (whole[1], plain, reseeded)]
    assert log_likelihoods[0] != log_likelihoods[1]
    assert log_likelihoods[0] != log_likelihoods[2]
    assert plain["scores"]["classifiers"] == reseeded["scores"]["classifiers"]  # all are judged by the same


@pytest.mark.parametrize(
    ("judge", "rows", "quick"), [("published", 80, True), ("published", 0, False), ("strong", 80, False)]
)
def test_a_strong_judge_is_strong_whatever_it_judges(judge, rows, quick, tmp_path, monkeypatch):
    """Few training rows make for a quick look, but not for a weak judge who was asked to be strong."""
    asked = []

    def judges(self, likelihoods, **options):
        asked.append((options["judge"], options["quick"]))
        raise Stop

    monkeypatch.setattr(type(multimodal("digits_in_three")), "judges", judges)
    monkeypatch.setattr(_multimodal, "_train", lambda *args: 1.0)
    config = replace(TINY, data=replace(TINY.data, rows=rows), evaluation=replace(TINY.evaluation, judge=judge))
    with pytest.raises(Stop):
        start(config, tmp_path)
    assert asked == [(judge, quick)]


class Stop(Exception):
    pass


def stop_at(words):
    """A tick that interrupts a run when it says these words."""

    def tick(n, said):
        if said == words:
            raise Stop

    return tick


def test_what_is_trained_is_not_trained_again(whole, tmp_path, monkeypatch):
    with pytest.raises(Stop):
        start(IMPARTIAL, tmp_path, stop_at("preparing the classifiers"))
    monkeypatch.setattr(MultimodalVAE, "fit", lambda *args, **kwargs: pytest.fail("it is trained again"))
    ticks = []
    folder, report = start(IMPARTIAL, tmp_path, lambda *tick: ticks.append(tick))
    assert numbers(report) == numbers(whole[1])
    assert history(folder) == history(whole[0])
    assert ticks[0] == (1, "trained before")
    assert report["scores"]["hours"] > 0


def test_killed_in_the_middle_it_ends_with_the_same_numbers(whole, tmp_path):
    program = f"""
import os, signal, torch
from evenhand.lab._config import from_dict
from evenhand.lab._folder import Folder
from evenhand.lab._multimodal import run_multimodal
torch.set_default_dtype(torch.float64)
torch.set_num_threads({torch.get_num_threads()})
folder = Folder({str(tmp_path)!r}, from_dict({to_dict(IMPARTIAL)!r}))
folder.begin()
done = 0
def tick(epochs, words):
    global done
    done += epochs
    if done >= 6 / {STEPS} - 1e-9:
        os.kill(os.getpid(), signal.SIGKILL)
run_multimodal(folder.config, folder, device=torch.device("cpu"), tick=tick, save_steps=2)
"""
    ended = subprocess.run([sys.executable, "-c", program], env=os.environ, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    clock = Folder(tmp_path, IMPARTIAL).path / "clock.json"
    clock.write_text(json.dumps({"seconds": 3600 + json.loads(clock.read_text())["seconds"]}))
    ticks = []
    folder, report = start(IMPARTIAL, tmp_path, lambda *tick: ticks.append(tick))
    assert numbers(report) == numbers(whole[1])
    assert history(folder) == history(whole[0])
    assert ticks[0][0] == pytest.approx(6 / STEPS)  # up to the first row after the checkpoint of step 4
    assert sum(epochs for epochs, _ in ticks) == pytest.approx(1)
    assert report["scores"]["hours"] > 1  # of both starts
    assert not clock.exists()


def test_seeds_have_their_own_training_rows_and_the_same_test_rows():
    one, other = (load(replace(TINY, training=replace(TINY.training, seed=seed))) for seed in (0, 1))
    assert not torch.equal(one.train.data.index["digit"], other.train.data.index["digit"])
    assert not torch.equal(one.train.data.values["colour"], other.train.data.values["colour"])
    assert torch.equal(one.test.data.index["colour"], other.test.data.index["colour"])
    assert torch.equal(one.test.data.values["colour"], other.test.data.values["colour"])


def test_latent_classification_can_be_left_out(tmp_path):
    config = replace(TINY, evaluation=replace(TINY.evaluation, without_latent=True))
    assert from_dict(to_dict(config)) == config
    assert "without_latent" not in to_dict(TINY)["evaluation"]  # hashes of other configs stay as they were
    _, report = start(config, tmp_path)
    assert report["scores"]["latent_classification"] == report["validation"]["latent_classification"] == []
    assert len(report["scores"]["coherence"]) == 7 * 3


def test_coherence_can_be_followed_over_training(tmp_path):
    longer = replace(TINY, training=replace(TINY.training, epochs=3))
    config = replace(longer, evaluation=replace(TINY.evaluation, follow=True))
    assert from_dict(to_dict(config)) == config
    assert "follow" not in to_dict(TINY)["evaluation"]
    _, report = start(config, tmp_path)
    followed = report["followed"]
    assert [entry["step"] for entry in followed] == [STEPS, 2 * STEPS, 3 * STEPS]
    pairs = [(tuple(record["given"]), record["target"]) for record in followed[0]["coherence"]]
    names = report["data"]["modalities"]
    assert pairs == [((given,), target) for given in names for target in names]
    assert all(0 <= record["value"] <= 1 for entry in followed for record in entry["coherence"])
    assert len({json.dumps(entry["coherence"]) for entry in followed}) > 1  # of the weights at that time
    _, plain = start(longer, tmp_path)
    assert "followed" not in plain
    assert numbers(plain) == numbers(report)  # looking changes nothing


def test_what_was_followed_before_an_interruption_is_kept(tmp_path, monkeypatch):
    config = replace(
        TINY, training=replace(TINY.training, epochs=2), evaluation=replace(TINY.evaluation, follow=True)
    )
    _, whole = start(config, tmp_path / "whole")
    fit, stops = MultimodalVAE.fit, []

    def stop(self, *args, logger, **options):
        class Stopping:
            def log_metrics(self, metrics, step):
                logger.log_metrics(metrics, step)
                if step > STEPS and not stops:
                    stops.append(step)
                    raise KeyboardInterrupt

            save = logger.save

        return fit(self, *args, logger=Stopping(), **options)

    monkeypatch.setattr(MultimodalVAE, "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        start(config, tmp_path / "stopped")
    _, report = start(config, tmp_path / "stopped")
    assert stops
    assert report["followed"] == whole["followed"]


@pytest.mark.parametrize("rows", [5, 10**6])
def test_rows_must_be_there(rows, tmp_path):
    config = replace(TINY, data=MultimodalData("digits_in_three", rows))
    with pytest.raises(ValueError, match=rf"data.rows should be 0 for all, or from 10 to 7210. Found {rows}."):
        start(config, tmp_path)


def test_layers_are_those_of_the_networks():
    two = replace(TINY, model=replace(TINY.model, n_layers=2))
    count = [sum(p.numel() for p in build_model(config).network.parameters()) for config in (TINY, two)]
    assert count[1] - count[0] == 6 * (128 * 128 + 128)


def test_settings_reach_the_model():
    config = replace(
        MultimodalExperiment(),
        model=MultimodalModel(scale="softplus"),
        objective=replace(MultimodalExperiment().objective, n_samples=5, n_backward=2),
        impartial=Impartiality(("LI",), preserve_norm=False),
    )
    model = build_model(config)
    assert model.core.options.n_backward == 2
    assert not model.core.options.preserve_norm
    x = torch.rand(3, 1, 28, 28)
    softplus, softmax = (m.network.encoders[0](x)[1].detach() for m in (model, build_model(MultimodalExperiment())))
    assert softmax.sum(-1) == pytest.approx(20, abs=1e-3)
    assert softplus.sum(-1).std() > 1e-3
    with pytest.raises(ValueError, match="model.scale should be one of '' for digits_in_three. Found 'softplus'"):
        build_model(replace(TINY, model=MultimodalModel(scale="softplus")))


def test_weights_are_in_the_name_of_a_run():
    """A control is no second run of what it controls."""
    usual, light, heavy, held = (
        replace(TINY, model=MultimodalModel(**settings)).name
        for settings in ({}, {"kl_weight": 0.3}, {"likelihood_weights": (1.0, 2.5, 1.0)}, {"kl_weight": "rate:8"})
    )
    assert usual == "digits_in_three-mmvae-siwae-vanilla-0"
    assert light == "digits_in_three-mmvae-siwae-vanilla-kl0.3-0"
    assert heavy == "digits_in_three-mmvae-siwae-vanilla-weights1-2.5-1-0"
    assert held == "digits_in_three-mmvae-siwae-vanilla-rate8-0"


def test_the_paper_has_465_runs():
    jobs = multimodal_jobs()
    assert len({job.name for job in jobs}) == len(jobs) == 3 * 5 * (5 + 13 + 13)
    assert {job.data.name for job in jobs} == {"mnist_svhn_text"}
    assert {(job.objective.n_samples, job.training.epochs, job.model.local_step) for job in jobs} == {
        (30, 30, "forward")
    }
    assert {job.impartial.goals for job in jobs if job.model.experts == "mvae"} == {(), ("LI",)}
    chosen = {(job.impartial.method, job.impartial.alpha) for job in jobs if job.impartial.goals}
    assert chosen == {("cagrad", 0.4), ("cagrad", 10.0), ("gradnorm", 0.0), ("gradnorm", 0.5)}
    for job in jobs[::50]:
        assert from_dict(to_dict(job)) == job


def test_quick_jobs_are_small():
    jobs = multimodal_jobs(quick=True)
    assert len({job.name for job in jobs}) == len(jobs) == 3 * 2 * (2 + 3 + 3)
    assert {job.data.name for job in jobs} == {"digits_in_three"}
    assert {job.training.seed for job in jobs} == {0, 1}
    assert [job.training.seed for job in multimodal_jobs(["elbo"], ["mvae"], seeds=[7], quick=True)] == [7, 7]


@pytest.mark.parametrize("job", multimodal_jobs(["siwae"], seeds=[0])[::3], ids=lambda job: job.name)
def test_the_models_of_the_paper_can_be_built(job):
    model = build_model(job)
    assert set(model.blocks) == set(job.impartial.goals)
    assert model.core.options.n_samples == 30
    assert model.network.n_latent == 20


def test_likelihoods_are_weighed_in_the_order_of_the_data_set():
    weighed = replace(TINY, model=MultimodalModel(likelihood_weights=(1.0, 2.0, 1.0)))
    assert build_model(weighed).core.options.likelihood_weights == (1.0, 2.0, 1.0)
    assert build_model(TINY).core.options.likelihood_weights == ()
    assert "likelihood_weights" not in to_dict(TINY)["model"]  # configs of before keep their hashes
    assert from_dict(to_dict(weighed)) == weighed
    with pytest.raises(ValueError, match="should have a number for each of digit, colour, text. Found"):
        build_model(replace(TINY, model=MultimodalModel(likelihood_weights=(1.0, 2.0))))
    with pytest.raises(ValueError, match="model.likelihood_weights\\[1\\] should be a number > 0. Found -2.0"):
        MultimodalModel(likelihood_weights=(1.0, -2.0))


def test_networks_of_users_start_from_the_seed(monkeypatch):
    """They draw from torch's own numbers, which are as before afterwards."""
    dataset = multimodal("digits_in_three")
    drawn, own = [], dataset.modalities

    def modalities(*sizes, **options):
        drawn.append(torch.rand(3).tolist())
        return own(*sizes, **options)

    monkeypatch.setattr(_multimodal, "multimodal", lambda name: replace(dataset, modalities=modalities))
    torch.manual_seed(99)
    before = torch.random.get_rng_state()
    _multimodal.build_model(TINY)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(100)
    _multimodal.build_model(IMPARTIAL)
    _multimodal.build_model(replace(TINY, training=replace(TINY.training, seed=1)))
    assert drawn[0] == drawn[1] != drawn[2]
