"""The count of survivors at a tiny size: planned, run, interrupted, run again, and made a table of."""

import json
from dataclasses import replace

import pytest
import torch

from evenhand.common import ArgumentError
from evenhand.datasets import multimodal
from evenhand.datasets.judges import _judges
from evenhand.lab import EXHIBITS, SurvivalExperiment, _paper_survival, execute, from_dict, to_dict
from evenhand.lab._config import Impartiality, MultimodalTraining, SurvivalModel, SurvivalObjective, hash_of
from evenhand.lab._paper_survival import GOALS, RULES, Size
from evenhand.lab._survival import build_survivor
from evenhand.modalities import Balanced, Defensive, LooseToTight, PartlyTight, Tempered, Tight
from evenhand.modalities.training import ImpartialMixture

SURVIVAL = EXHIBITS["survival"]
TINY = Size(80, 8, 8, 2, 1, half=False, test_rows=40)  # a quarter of it are 20 steps


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setattr(_paper_survival, "SIZES", {"digits_in_three": TINY})


@pytest.fixture(autouse=True, scope="module")
def _cheap_judges(tmp_path_factory):
    """Classifiers that have learnt next to nothing, in a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(_judges, "EPOCHS", 1)
        patch.setattr(_judges, "LEAST_STEPS", 1)
        yield


def plain(n_seeds=1):
    """The jobs of two bounds without goals."""
    jobs = SURVIVAL.jobs(["digits_in_three"], ["tight", "balanced0.6"], n_seeds=n_seeds, quick=True)
    return [job for job in jobs if not job.impartial.goals]


def go(jobs, root, **options):
    return execute(jobs, root, device="cpu", command="evenhand reproduce survival --quick", **options)


def test_two_seeds_of_two_bounds_are_counted_once(tmp_path):
    ticks = []
    jobs = plain(2)
    folders = go(jobs, tmp_path, begin=lambda folder, number: lambda epochs, words: ticks.append(epochs))
    assert sum(ticks) == pytest.approx(4 * 2)  # epochs
    table = SURVIVAL.table(SURVIVAL.reports([tmp_path]))
    assert [row[0] for row in table.rows] == ["tight", "balanced 0.6"]
    assert [row[3] for row in table.rows] == ["20", "20"]
    assert [" of 2 (" in str(row[4]) for row in table.rows] == [True, True]
    assert go(jobs, tmp_path, begin=lambda folder, number: pytest.fail("it is done")) == [*map(_Same, folders)]
    report = folders[0].report()
    assert report["command"] == "evenhand reproduce survival --quick"
    assert {"versions", "hardware", "seconds"} < set(report)
    assert from_dict(report["config"]) == jobs[0]
    assert report["history"]["steps"] == [10, 20]
    (run,) = report["runs"]
    assert run["share"] == report["history"]["share"][-1]
    assert sum(run["share"]) == pytest.approx(1, abs=1e-4)
    assert len(run["coherence"]) == 9
    assert {path.name for path in folders[0].path.iterdir()} == {"DONE", "config.toml", "lock", "report.json"}


def test_warm_up_and_clipping_change_a_training(tmp_path):
    jobs = SURVIVAL.jobs(["digits_in_three"], ["tight", "tight-warm-up", "tight-clipped"], n_seeds=1, quick=True)
    small = [replace(job.training, clip=1e-6) if job.training.clip else job.training for job in jobs]
    jobs = [replace(job, training=t) for job, t in zip(jobs, small, strict=True) if not job.impartial.goals]
    reports = [folder.report() for folder in go(jobs, tmp_path)]
    assert [r["runs"][0]["rule"] for r in reports] == ["tight", "tight, warm-up", "tight, clipped"]
    assert len({r["runs"][0]["bound"] for r in reports}) == 3
    assert [row[0] for row in SURVIVAL.table(reports).rows] == ["tight", "tight, clipped", "tight, warm-up"]


class _Same:
    """Equal to another object for the same directory."""

    def __init__(self, folder):
        self.path = folder.path

    def __eq__(self, other):
        return self.path == other.path


def test_an_interrupted_training_goes_on_with_the_same_numbers(tmp_path, monkeypatch):
    (job,) = plain()[:1]
    (whole,) = go([job], tmp_path / "whole", save_steps=5)
    seen = []

    def stop(epochs, words):
        seen.append(words)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go([job], tmp_path / "parts", save_steps=5, begin=lambda folder, number: stop)
    steps, forward = [], ImpartialMixture.forward
    monkeypatch.setattr(ImpartialMixture, "forward", lambda self, *a: steps.append(1) or forward(self, *a))
    (parts,) = go([job], tmp_path / "parts", save_steps=5)
    assert 0 < len(steps) < 20
    assert parts.report()["runs"] == whole.report()["runs"]
    assert parts.report()["history"] == whole.report()["history"]


def test_all_that_the_issue_asks_for_is_planned(monkeypatch):
    monkeypatch.undo()
    jobs = SURVIVAL.jobs(n_seeds=1)
    assert {job.data.name for job in jobs} == {"mnist_svhn_text"}
    arms = {(j.rule, j.impartial.goals, j.impartial.preserve_norm, j.model.scale) for j in jobs}
    assert len(arms) == len(jobs) == len({hash_of(job) for job in jobs}) == len({job.name for job in jobs})
    rules = {job.rule for job in jobs}
    assert len(rules) == len(RULES)
    assert {(rule, goals) for rule, goals, _, _ in arms} == {(rule, goals) for rule in rules for goals in GOALS}
    assert {(rule, scale) for rule, _, _, scale in arms if scale == "softplus"} == {
        ("tight", "softplus"), ("balanced 0.6", "softplus"),
    }  # fmt: skip
    assert {rule for rule, _, restored, _ in arms if not restored} == {"tight", "balanced 0.6"}
    assert all(j.data.rows * j.training.epochs == 2000 * j.training.batch_size for j in jobs)
    assert set(SURVIVAL.models) == set(RULES)
    digits = SURVIVAL.jobs(["digits_in_three"], ["loose"], n_seeds=3)
    assert [job.training.seed for job in digits] == [0] * 4 + [1] * 4 + [2] * 4
    assert all(j.data.rows * j.training.epochs == 2000 * j.training.batch_size for j in digits)
    assert {j.objective.amount for j in jobs if j.objective.label == "loose to tight"} == {1200}
    care = SURVIVAL.jobs(["digits_in_three"], ["tight-warm-up", "tight-clipped"], n_seeds=1)
    assert {(j.rule, j.training.warm_up, j.training.clip) for j in care} == {
        ("tight, warm-up", 2.0, 0.0), ("tight, clipped", 0.0, 20.0),
    }  # fmt: skip
    quick = SURVIVAL.jobs(quick=True)
    assert all(j.data.rows * j.training.epochs == 500 * j.training.batch_size for j in quick)
    assert {job.data.name for job in quick} == {"digits_in_three"}
    assert {job.objective.label for job in quick} == {"tight", "balanced 0.6"}


@pytest.mark.parametrize("wrong", [{"datasets": ["wine"]}, {"models": ["mvae"]}, {"controls": False}])
def test_what_does_not_apply_is_refused(wrong):
    with pytest.raises(ArgumentError) as error:
        SURVIVAL.jobs(**wrong)
    assert [error.value.argument] == list(wrong)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (("tight", 0.0), Tight()),
        (("balanced", 0.5), Balanced(0.5)),
        (("tempered", 0.02), Tempered(0.02)),
        (("partly tight", 0.0), PartlyTight()),
        (("loose to tight", 1200.0), LooseToTight(1200)),
        (("defensive", 0.1), Defensive(0.1)),
        (("loose", 0.0), None),
    ],
)
def test_a_config_says_which_bound_it_is(rule, expected):
    objective = SurvivalObjective(*rule, n_samples=3, n_backward=2)
    assert objective.make() == expected
    config = SurvivalExperiment(
        data=replace(plain()[0].data),
        objective=objective,
        impartial=Impartiality(("LI",), preserve_norm=False),
        training=MultimodalTraining(seed=3),
    )
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
    model = build_survivor(config, multimodal("digits_in_three"))
    options = model.core.options
    assert (options.objective, options.tightness) == ("iwae" if expected is None else "siwae", expected)
    assert (options.n_samples, options.n_backward, options.preserve_norm) == (3, 2, False)
    assert list(model.blocks) == ["LI"]


def test_wrong_amounts_and_scales_are_refused():
    with pytest.raises(ArgumentError, match="objective.amount should be 0 with objective.tightness='tight'"):
        SurvivalObjective("tight", 0.5)
    with pytest.raises(ArgumentError, match="objective.amount should be"):
        SurvivalObjective("balanced", 1.5)
    with pytest.raises(ArgumentError, match="model.scale should be one of 'softmax', 'softplus'. Found 'exp'"):
        SurvivalExperiment(model=SurvivalModel("exp"))
    with pytest.raises(ArgumentError, match="model.scale"):
        SurvivalExperiment(data=plain()[0].data, model=SurvivalModel("softplus"))


def test_scales_reach_the_encoders():
    dataset = multimodal("mnist_svhn_text")
    raw = torch.tensor([[3.0, -2.0, 0.0]])
    scales = []
    for scale in dataset.scales:
        encoder = dataset.make_modalities(scale=scale)["mnist"].encoder
        scales.append(encoder._positive(raw))
    assert dataset.scales == ("softmax", "softplus")
    assert scales[0].sum().item() == pytest.approx(3, abs=1e-3)
    assert scales[1][0, 2].item() == pytest.approx(0.6931, abs=1e-3)
