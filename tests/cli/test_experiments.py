"""`run`, `reproduce`, `results` and `report`."""

import json
import re
from pathlib import Path

import pytest

from evenhand.cli import _reproduce
from evenhand.cli._names import EXPERTS, MODELS, OF_MODALITIES, OF_TABLES, REPRODUCIBLE
from evenhand.lab import _execute
from evenhand.lab._config import (
    Data,
    Evaluation,
    Model,
    Objective,
    Runs,
    TableExperiment,
    Training,
    read_config,
    to_toml,
)

from ..lab._reports import multimodal_report, table_report


def tiny(table, objective="elbo"):
    return TableExperiment(
        Data(path=str(table)),
        Model(n_hidden=4),
        Objective(objective, 2),
        Training(epochs=2, batch_size=20, checks=1),
        runs=Runs(("sum", "imtlg"), (0, 1)),
        evaluation=Evaluation(n_samples=2),
    )


def finished(folder, report, name="run"):
    place = Path(folder) / name
    place.mkdir(parents=True)
    (place / "report.json").write_text(json.dumps(report))
    (place / "DONE").touch()
    return place


@pytest.fixture(scope="module")
def done(table, tmp_path_factory):
    """A config that was run once, the folder of its run, and what was printed."""
    from typer.testing import CliRunner

    from evenhand.cli._app import app

    place = tmp_path_factory.mktemp("experiment")
    (place / "tiny.toml").write_text(to_toml(tiny(table)))
    command = ["run", str(place / "tiny.toml"), "training.lr=0.01", "--out", str(place / "runs")]
    result = CliRunner().invoke(app, command, prog_name="evenhand")
    assert result.exit_code == 0, result.stderr
    (folder,) = (place / "runs").iterdir()
    return folder, command, result


def test_a_run_says_what_was_reached_and_where(done):
    folder, _, result = done
    assert f"Directory: {folder}" in result.stdout
    assert "vanilla" in result.stdout
    assert "IMTL-G" in result.stdout
    report = json.loads((folder / "report.json").read_text())
    assert report["config"]["training"]["lr"] == 0.01


def test_a_run_that_is_done_is_not_run_again_unless_forced(done, go, monkeypatch):
    folder, command, _ = done
    started = []
    monkeypatch.setattr("evenhand.lab._run.run_table", lambda *a, **k: started.append(1) or {})
    assert json.loads(go(*command, "--json").stdout)["folder"] == str(folder)
    assert "This was done before; --force starts over." in go(*command).stdout
    assert not started


def test_wrong_configs_are_refused(go, table, tmp_path):
    assert go("run", "no.toml").exit_code == 2
    (tmp_path / "wrong.toml").write_text("experiment = 'table'\n[data]\nnme = 'hi'\n")
    result = go("run", "wrong.toml")
    assert result.exit_code == 2
    assert "Did you mean data.name?" in result.stderr
    (tmp_path / "tiny.toml").write_text(to_toml(tiny(table)))
    assert "device should be" in go("run", "tiny.toml", "--device", "abacus").stderr


def test_the_page_of_a_run(done, go, monkeypatch):
    folder, _, _ = done
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    result = go("report", folder, "-o", "page.html", "--open")
    assert result.exit_code == 0, result.stderr
    assert Path("page.html").read_text().startswith("<!")
    assert opened == [Path("page.html").resolve().as_uri()]
    assert [p.name for p in Path().iterdir()] == ["page.html"]
    assert json.loads(go("report", folder, "--json").stdout) == {"page": str(folder / "report.html")}
    assert go("report", "nowhere").exit_code == 2
    assert go("report", folder, "-o", "no/page.html").exit_code == 2


def test_an_unfinished_run_has_no_page(go, tmp_path, table):
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.toml").write_text(to_toml(tiny(table)))
    result = go("report", "half")
    assert result.exit_code == 2
    assert "half is started" in result.stderr


# ---------------------------------------------------------------- reproduce


@pytest.fixture
def two_jobs(monkeypatch, table):
    jobs = [tiny(table), tiny(table, "iwae")]
    monkeypatch.setattr(_reproduce, "find_jobs", lambda *_: jobs)
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

    monkeypatch.setattr(_execute, "run", stop)
    result = go("reproduce", "controls", "--out", "my runs")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted. To go on from there: evenhand reproduce controls --out 'my runs'\n"


def test_failed_jobs_are_named(two_jobs, go, monkeypatch):
    def fail(*_, **__):
        raise FloatingPointError("it diverged")

    monkeypatch.setattr(_execute, "run", fail)
    result = go("reproduce", "controls")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: 2 of 2 experiments failed")
    assert re.search(r"people-vae-elbo-\w{8}: it diverged", result.stderr)
    assert re.search(r"people-vae-iwae-\w{8}: it diverged", result.stderr)


def test_every_table_has_its_jobs():
    names = [job.name for job in _reproduce.find_jobs("table8", "hi", "hivae", 2, False, True)]
    assert names == ["hi-hivae-elbo"]
    jobs = _reproduce.find_jobs("table13", None, "mvae", 1, False, True)
    assert {job.objective.name for job in jobs} == {"elbo"}
    assert {job.model.experts for job in jobs} == {"mvae"}
    assert {job.training.seed for job in jobs} == {0}
    assert set(REPRODUCIBLE) == {*OF_TABLES, *OF_MODALITIES}
    for table in REPRODUCIBLE:
        assert _reproduce.find_jobs(table, None, None, 1, True, True)


def test_some_results_need_few_jobs():
    def names(table, *chosen, quick=False):
        return [job.name for job in _reproduce.find_jobs(table, *chosen, None, quick, True)]

    assert (
        names("figure4", None, None) == names("figure4", None, None, quick=True) == ["hi-vae-elbo", "labour-vae-elbo"]
    )
    assert len(names("table6", None, None)) == 12
    assert {name.partition("-")[2] for name in names("table6", None, None)} == {"vae-elbo"}
    assert names("table6", "hi", "hivae") == ["hi-hivae-elbo"]
    full = _reproduce.find_jobs("table1", "hi", "vae-elbo", None, False, True)
    assert _reproduce.find_jobs("figure4", "hi", None, None, False, True) == full  # what is done counts
    (wine,) = _reproduce.find_jobs("figure4", "wine", None, None, False, True)
    assert wine.evaluation.generate == 1000  # or there would be nothing to draw


@pytest.mark.parametrize(("quick", "seeds", "n"), [(True, None, 2), (True, 5, 5), (False, None, 5), (False, 3, 3)])
def test_so_many_seeds_as_are_asked_for(quick, seeds, n):
    jobs = _reproduce.find_jobs("table4", None, "mvae", seeds, quick, True)
    assert [job.training.seed for job in jobs[:n]] == [*range(n)]
    assert len({job.name for job in jobs}) == len(jobs)
    assert len(jobs) % n == 0
    assert {job.training.seed for job in jobs} == {*range(n)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["tabel1"], "Did you mean 'table1'?"),
        (["table1", "--datasets", "hi,wien"], "Did you mean 'wine'?"),
        (["table1", "--models", "mvae"], f"--models should be among {', '.join(MODELS)}"),
        (["table4", "--models", "hivae"], f"--models should be among {', '.join(EXPERTS)}"),
        (["table4", "--datasets", "hi"], "--datasets should be left out"),
        (["table1", "--executor", "slurm"], "slurm"),
        (["table1", "--seeds", "0"], "--seeds"),
        (["table4", "--no-controls"], "--no-controls should be left out for table4"),
        (["table1", "--workers", "2"], "--workers should stand with --executor ray"),
        (["table1", "--address", "auto", "--list"], "--address should stand with --executor ray"),
    ],
)
def test_wrong_jobs_are_refused(go, options, words):
    result = go("reproduce", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr


# ---------------------------------------------------------------- results


def paper_report(epochs=10, **changes):
    report = table_report(**changes)
    report["name"], report["data"]["name"] = "hi-vae-elbo", "hi"
    report["config"]["training"]["epochs"] = epochs
    return report


def test_tables_are_made_from_reports_alone(go):
    finished("runs", paper_report())
    for table in ("table1", "table2", "table6", "table7", "table8", "controls", "equal-rate"):
        result = go("results", table)
        assert result.exit_code == 0, result.stderr
        assert result.stdout.count("\n") > 4
    assert "paper, vanilla" in go("results", "table1").stdout
    assert "paper, vanilla" not in go("results", "table1", "--no-paper").stdout


def test_formats(go):
    finished("runs", paper_report())
    assert go("results", "table1", "--format", "latex").stdout.startswith(r"\begin{table}")
    assert go("results", "table1", "--format", "markdown").stdout.startswith("**Test")
    document = json.loads(go("results", "table1", "--format", "json").stdout)
    assert document["title"] == "Test reconstruction errors"
    assert json.loads(go("--json", "results", "table1").stdout) == {"name": "table1", **document}
    assert go("results", "table1", "--format", "latex", "-o", "table.tex").exit_code == 0
    assert Path("table.tex").read_text().startswith(r"\begin{table}")
    assert go("results", "table1", "--format", "word").exit_code == 2


def test_of_several_reports_the_longest_training_is_shown(go):
    finished("runs", paper_report(epochs=5, seed=1), "quick")
    finished("paper/table1/reports", paper_report(epochs=50, seed=2), "full")
    result = go("results", "table1", "--json")
    assert "Several reports of hi-vae-elbo" in result.stderr
    alone = go("results", "table1", "--json", "--from", "paper/table1/reports")
    assert alone.stderr == ""
    assert alone.stdout == result.stdout


def test_a_file_called_like_a_data_set_is_another_table(go):
    own = paper_report(epochs=1000, seed=1)
    own["data"]["name"] = "hi.csv"
    finished("runs", own, "own")
    finished("runs", paper_report(epochs=5, seed=2), "public")
    result = go("results", "table1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == go("results", "table1", "--json", "--from", "runs/public").stdout
    rows = json.loads(go("results", "equal-rate", "--json").stdout)["rows"]
    assert len(rows) == 2


def test_places_are_named_as_they_are(go):
    words = " ".join(go("results", "--help").stdout.split())
    assert "paper/table1/reports or paper/multimodal/reports" in words
    assert "TABLE/reports" not in words


def test_a_comparison_is_no_result_of_the_paper(go):
    own = paper_report(epochs=1000)
    own["config"]["model"]["within_range"] = True
    finished("runs", own)
    result = go("results", "table1")
    assert result.exit_code == 1
    assert result.stderr.endswith("To run them: evenhand reproduce table1\n")
    assert go("results", "controls").exit_code == 0


def test_multimodal_tables_and_their_figure(go):
    finished("runs", multimodal_report(()), "plain")
    finished("runs", multimodal_report(), "impartial")
    for table in OF_MODALITIES:
        result = go("results", table)
        assert result.exit_code == 0, (table, result.stderr)
    assert Path("figure5.svg").exists() or list(Path().glob("figure5-*.svg"))


def test_figures_are_written_whole(go, runs):
    folder, _, _ = runs
    for figure in ("rate-distortion", "figure4"):
        result = go("results", figure, "--from", folder)
        assert result.exit_code == 0, result.stderr
        assert result.stdout == f"Figure: {figure}.svg\n"
        assert "<svg" in Path(f"{figure}.svg").read_text()
    assert go("results", "figure4", "--from", folder, "-o", "figure.png").exit_code == 2
    finished("empty", paper_report())
    result = go("results", "figure4", "--from", "empty")
    assert result.exit_code == 1
    assert "generated rows" in result.stderr


def test_overhead_reads_the_benchmark(go):
    rows = {"no blocks": {"ms": 4.0, "ratio": 1.0}, "LI": {"ms": 5.0, "ratio": 1.25}}
    Path("overhead.json").write_text(json.dumps({"rows": rows, "hardware": "an abacus"}))
    Path("other.json").write_text(json.dumps({"rows": 3}))
    assert "an abacus" in go("results", "overhead", "--from", ".").stdout
    assert go("results", "overhead", "--from", "other.json").exit_code == 1


def test_nowhere_to_look(go):
    result = go("results", "table1")
    assert result.exit_code == 1
    assert "evenhand reproduce table1" in result.stderr
    assert go("results", "table1", "--from", "nowhere").exit_code == 2
    assert "Did you mean 'table1'?" in go("results", "tabel1").stderr
