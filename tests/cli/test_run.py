"""`run` and `report`: one experiment, and its page."""

import json
import sys
from pathlib import Path

import pytest

import evenhand.lab
from evenhand.lab import TableExperiment, to_toml

from ._runs import tiny


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
    module = sys.modules[evenhand.lab.run.__module__]
    monkeypatch.setattr(module, "RUNNERS", {TableExperiment: lambda *a, **k: started.append(1) or {}})
    assert json.loads(go(*command, "--json").stdout)["folder"] == str(folder)
    assert "Already done; --force starts over." in go(*command).stdout
    assert not started


def test_wrong_configs_are_refused(go, table, tmp_path):
    result = go("run", "no.toml")
    assert (result.exit_code, result.stderr) == (2, "Error: CONFIG.toml should be a file. Found none at no.toml.\n")
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
    result = go("report", "nowhere")
    words = "Error: DIR should be the directory of a run. Found none at nowhere.\n"
    assert (result.exit_code, result.stderr) == (2, words)
    assert go("report", folder, "-o", "no/page.html").exit_code == 2


def test_an_unfinished_run_has_no_page(go, tmp_path, table):
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.toml").write_text(to_toml(tiny(table)))
    result = go("report", "half")
    assert result.exit_code == 2
    assert "half is started" in result.stderr
