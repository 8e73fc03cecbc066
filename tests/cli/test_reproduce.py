"""`reproduce`: the paper's experiments."""

import json
import re
import sys
from pathlib import Path

import pytest

import evenhand.lab
from evenhand.cli import _reproduce
from evenhand.cli._names import MODELS, REPRODUCIBLE
from evenhand.lab import EXHIBITS, read_config

from ._runs import tiny


def find_jobs(name, datasets=None, models=None, **options):
    return _reproduce.find_jobs(EXHIBITS[name], datasets, models, **options)


@pytest.fixture
def two_jobs(monkeypatch, table):
    jobs = [tiny(table), tiny(table, "iwae")]
    monkeypatch.setattr(_reproduce, "find_jobs", lambda *_, **__: jobs)
    return jobs


def test_all_jobs_are_run_once_and_the_table_is_printed(two_jobs, go):
    first = go("reproduce", "controls")
    assert first.exit_code == 0, first.stderr
    assert first.stdout.startswith("2 runs: 0 done, 0 started, 2 not begun.")
    assert "Reconstruction, and what it costs" in first.stdout
    assert "(2 of 2)" in first.stderr
    again = go("reproduce", "controls", "--json")
    assert again.stderr == ""
    assert len(json.loads(again.stdout)["runs"]) == 2
    listed = go("reproduce", "controls", "--list")
    assert listed.stdout.startswith("2 runs: 2 done, 0 started, 0 not begun.")
    assert listed.stdout.count("runs/people-vae-") == 2


def test_jobs_are_listed_without_running(two_jobs, go):
    document = json.loads(go("reproduce", "table1", "--list", "--json").stdout)
    assert document["counts"] == {"done": 0, "started": 0, "not begun": 2}
    assert [job["state"] for job in document["jobs"]] == ["not begun"] * 2
    assert not Path("runs").exists()


def test_configs_are_written_and_can_be_run(go):
    result = go("reproduce", "table1", "--quick", "--datasets", "wine,hi", "--configs", "new/configs")
    assert result.exit_code == 0, result.stderr
    names = sorted(path.name for path in Path("new/configs").iterdir())
    assert names == ["hi-vae-elbo.toml", "wine-vae-elbo.toml"]
    assert read_config("new/configs/hi-vae-elbo.toml").data.name == "hi"


def test_interrupting_says_how_to_resume(two_jobs, go, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules[evenhand.lab.execute.__module__], "run", stop)
    result = go("reproduce", "controls", "--out", "my runs")
    assert result.exit_code == 130
    assert result.stderr == (
        "Interrupted. 0 of 2 runs are done. To go on: evenhand reproduce controls --out 'my runs'\n"
    )


def test_failed_jobs_are_named(two_jobs, go, monkeypatch):
    def fail(*_, **__):
        raise FloatingPointError("it diverged")

    monkeypatch.setattr(sys.modules[evenhand.lab.execute.__module__], "run", fail)
    result = go("reproduce", "controls")
    assert result.exit_code == 1
    told = [f"failed: people-vae-{name}: it diverged" for name in ("elbo", "iwae")]  # at once
    assert result.stderr.splitlines()[:3] == [*told, "Error: 2 of 2 experiments failed:"]
    assert re.search(r"people-vae-elbo-\w{8}: it diverged", result.stderr)
    assert re.search(r"people-vae-iwae-\w{8}: it diverged", result.stderr)


def test_every_table_has_its_jobs():
    names = [job.name for job in find_jobs("table8", "hi", "hivae", n_seeds=2)]
    assert names == ["hi-hivae-elbo"]
    jobs = find_jobs("table13", None, "mvae", n_seeds=1)
    assert {job.objective.name for job in jobs} == {"elbo"}
    assert {job.model.experts for job in jobs} == {"mvae"}
    assert {job.training.seed for job in jobs} == {0}
    assert set(EXHIBITS) - set(REPRODUCIBLE) == {"families", "overhead"}  # which benchmarks make
    for table in REPRODUCIBLE:
        assert find_jobs(table, n_seeds=1, quick=True)


def test_some_results_need_few_jobs():
    def names(table, *chosen, quick=False):
        return [job.name for job in find_jobs(table, *chosen, quick=quick)]

    assert (
        names("figure4", None, None) == names("figure4", None, None, quick=True) == ["hi-vae-elbo", "labour-vae-elbo"]
    )
    assert len(names("table6", None, None)) == 12
    assert {name.partition("-")[2] for name in names("table6", None, None)} == {"vae-elbo"}
    assert names("table6", "hi", "hivae") == ["hi-hivae-elbo"]
    full = find_jobs("table1", "hi", "vae-elbo")
    assert find_jobs("figure4", "hi") == full  # what is done counts
    (wine,) = find_jobs("figure4", "wine")
    assert wine.evaluation.generate == 1000  # or there would be nothing to draw


def test_some_of_the_runs_with_other_settings(go, tmp_path):
    few = ["--models", "mmvae", "--seeds", "2", "--only", "*-vanilla-*", "--only", "*-li-cagrad0.4-*"]
    result = go("reproduce", "table4", *few, "--set", "training.epochs=4", "--configs", str(tmp_path))
    assert result.exit_code == 0, result.stderr
    kinds = ("vanilla", "li-cagrad0.4")
    wanted = {f"mnist_svhn_text-mmvae-siwae-{kind}-{seed}" for kind in kinds for seed in (0, 1)}
    assert {path.stem for path in tmp_path.iterdir()} == wanted
    assert {evenhand.lab.read_config(path).training.epochs for path in tmp_path.iterdir()} == {4}


@pytest.mark.parametrize(("quick", "seeds", "n"), [(True, None, 2), (True, 5, 5), (False, None, 5), (False, 3, 3)])
def test_so_many_seeds_as_are_asked_for(quick, seeds, n):
    jobs = find_jobs("table4", None, "mvae", n_seeds=seeds, quick=quick)
    assert [job.training.seed for job in jobs[:n]] == [*range(n)]
    assert len({job.name for job in jobs}) == len(jobs)
    assert len(jobs) % n == 0
    assert {job.training.seed for job in jobs} == {*range(n)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["tabel1"], "Did you mean 'table1'?"),
        (["table1", "--datasets", "hi,wien"], "Did you mean 'wine'?"),
        (["table1", "--models", "mvae"], f"--models should be among {', '.join(MODELS[0])}"),
        (["table4", "--models", "hivae"], f"--models should be among {', '.join(MODELS[1])}"),
        (["table4", "--datasets", "hi"], "--datasets should be left out"),
        (["table1", "--executor", "slurm"], "slurm"),
        (["table1", "--seeds", "0"], "--seeds"),
        (["table4", "--no-controls"], "--no-controls should be left out for table4"),
        (["table1", "--only", "*-nobody-*"], "--only should match the name of a run. Found '*-nobody-*'."),
        (["table1", "--set", "training.epoch=1"], "training.epoch"),
        (["table1", "--set", "epochs"], "An override should look like training.epochs=10. Found 'epochs'."),
        (["table1", "--address", "auto", "--list"], "--address should be used with --executor ray"),
    ],
)
def test_wrong_jobs_are_refused(go, options, words):
    result = go("reproduce", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_survival_takes_bounds_and_its_own_data_sets(go):
    jobs = find_jobs("survival", "digits_in_three", "tight,loose", n_seeds=2, quick=True, controls=True)
    assert {job.objective.tightness for job in jobs} == {"tight", "loose"}
    assert {(job.data.name, job.training.seed) for job in jobs} == {("digits_in_three", 0), ("digits_in_three", 1)}
    refused = go("reproduce", "survival", "--datasets", "wine")
    assert refused.exit_code == 2
    assert "--datasets should" in refused.stderr
    assert "digits_in_three" in refused.stderr
