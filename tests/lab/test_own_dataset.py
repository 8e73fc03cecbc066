"""A data set that a user brings: named in a config, trained, measured, and told apart by its content."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evenhand.cli._app import app
from evenhand.common import ArgumentError
from evenhand.datasets import MULTIMODAL, MultimodalDataset, multimodal
from evenhand.lab import (
    MultimodalExperiment,
    open_folder,
    read_config,
    resolve,
    run,
    to_dict,
    to_toml,
    write_page,
)
from evenhand.lab._config import MultimodalData, hash_of

GUIDE = Path(__file__).parents[2] / "docs" / "experiments.md"
BLOCK = re.compile(r"^```(python|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def example():
    """The Python file and the config of the guide."""
    text = GUIDE.read_text()
    part = text[text.index("### Several modalities of your own") :]
    (_, code), (_, config) = BLOCK.findall(part)[:2]
    return code, config


def page_of(path):
    write_page([path], path / "report.html")
    return (path / "report.html").read_text()


def type_run(folder, *options):
    command = [*options, "run", str(folder / "shapes.toml"), "--out", str(folder / "runs")]
    return CliRunner().invoke(app, command, prog_name="evenhand")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The guide's file beside its config, both in a folder that is not the current one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab").mkdir()
    code, config = example()
    (tmp_path / "lab" / "shapes.py").write_text(code)
    (tmp_path / "lab" / "shapes.toml").write_text(config.replace("epochs = 5", "epochs = 1"))
    return tmp_path / "lab"


def test_the_example_of_the_guide_runs_from_its_file(folder):
    config = read_config(folder / "shapes.toml")
    assert config.name == "shapes-mopoe-iwae-li-eei-cagrad0.4-0"
    done = run(config, folder / "runs")
    report = done.report()
    assert done.path.name == f"{config.name}-{hash_of(resolve(config))}"
    assert report["data"] | {"note": ""} == {
        "name": "shapes", "rows": 120, "train_rows": 108, "validation_rows": 12, "test_rows": 60,
        "modalities": ["picture", "name"], "note": "",
    }  # fmt: skip
    assert {tuple(record["given"]) for record in report["scores"]["coherence"]} == {
        ("picture",), ("name",), ("picture", "name"),
    }  # fmt: skip
    assert set(report["scores"]["classifiers"]) == {"picture", "name"}
    assert report["scores"]["classifiers"]["name"] == 1
    assert isinstance(report["sentences"], list)
    assert len(report["config"]["data"]["sha256"]) == 64
    assert open_folder(done.path).path == done.path
    assert "shapes" in page_of(done.path)


def test_the_shell_runs_it(folder):
    outcome = type_run(folder, "--json")
    assert outcome.exit_code == 0, outcome.output
    report = json.loads(outcome.stdout)["report"]
    assert report["data"]["name"] == "shapes"
    again = type_run(folder)
    assert "--force starts over" in again.output
    assert "Self and cross coherence" in again.output


def without_labels(folder):
    file = folder / "shapes.py"
    file.write_text(file.read_text().replace("labels=shape", "labels=None"))


def test_without_labels_coherence_is_left_out(folder):
    without_labels(folder)
    outcome = type_run(folder, "--json")
    assert outcome.exit_code == 0, outcome.output
    found = json.loads(outcome.stdout)
    scores, data = found["report"]["scores"], found["report"]["data"]
    assert (scores["coherence"], scores["joint_coherence"], scores["latent_classification"]) == ([], None, [])
    assert scores["log_likelihoods"]
    assert "no labels: coherence and latent classification are left out" in data["note"]
    assert not (folder.parent / "cache").exists()  # nobody was asked to judge
    assert "shapes" in page_of(Path(found["folder"]))


def test_another_content_is_another_run(folder):
    before = resolve(read_config(folder / "shapes.toml"))
    assert resolve(before) == before
    without_labels(folder)
    after = resolve(read_config(folder / "shapes.toml"))
    assert hash_of(before) != hash_of(after)
    with pytest.raises(ValueError, match=r"shapes\.py should have the sha256 .* its content has changed"):
        resolve(before)


def test_a_file_that_changed_is_read_again(folder):
    name = f"{folder / 'shapes.py'}:shapes"
    assert multimodal(name).load("test", seed=0).labels is not None
    without_labels(folder)
    assert multimodal(name).load("test", seed=0).labels is None


def test_where_the_file_lies_does_not_matter_but_its_name_does(folder, tmp_path, monkeypatch):
    beside = resolve(read_config(folder / "shapes.toml"))
    (tmp_path / "shapes.toml").write_text((folder / "shapes.toml").read_text())
    monkeypatch.chdir(folder)  # relative to where the command is typed
    assert hash_of(resolve(read_config(tmp_path / "shapes.toml"))) == hash_of(beside)
    (folder / "other.py").write_bytes((folder / "shapes.py").read_bytes())
    other = replace(beside, data=MultimodalData("other.py:shapes"))  # in another file, with the same content
    assert hash_of(resolve(other)) != hash_of(beside)


def test_the_file_beside_the_config_comes_first(folder, monkeypatch):
    (folder.parent / "shapes.py").write_text("shapes = 1\n")
    config = read_config(folder / "shapes.toml")
    assert isinstance(multimodal(config.data.name), MultimodalDataset)


def test_a_module_can_be_named(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    (folder / "shapes_module.py").write_bytes((folder / "shapes.py").read_bytes())
    config = MultimodalExperiment(MultimodalData("shapes_module:shapes"))
    assert resolve(config) == config
    assert multimodal(config.data.name).name == "shapes"
    assert config.name.startswith("shapes-mmvae-")
    sys.modules.pop("shapes_module")


def test_ours_are_written_and_hashed_as_before():
    """By numbers that were taken when they were the only ones."""
    config = MultimodalExperiment()
    assert "sha256" not in to_dict(config)["data"]
    assert "sha256" not in to_toml(config)
    assert hash_of(config) == "0da1f3a3"


@pytest.mark.parametrize(
    "name", ["magic", "", ":shapes", "shapes.py", "shapes.py:", "shapes.py:1x", "my module:shapes", "a..b:c"]
)
def test_names_that_are_none_are_refused(name):
    with pytest.raises(ArgumentError, match=r"data.name should be one of 'mnist_svhn_text', .*'path/to/file.py:my"):
        MultimodalData(name)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1", r"name an evenhand.datasets.MultimodalDataset in .*mine.py. Found no 'mine' in it. Write mine = "),
        ("mine = 1", r"MultimodalDataset in .*mine.py. Found 'mine' of type int. Write mine = "),
        ("def mine(): pass", r"Found 'mine' of type function"),
        ("1 / 0", r"mine.py, which data.name names, could not be imported. ZeroDivisionError: division by zero"),
        (
            "import not_there_at_all",
            r"could not be imported. ModuleNotFoundError: No module named 'not_there_at_all'",
        ),
        ("def (", r"could not be imported. SyntaxError"),
    ],
)
def test_files_that_hold_none_are_refused(tmp_path, code, message):
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(ValueError, match=message):
        multimodal(f"{tmp_path / 'mine.py'}:mine")


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="data.name should name a Python file that exists. Found none at"):
        multimodal(f"{tmp_path / 'none.py'}:mine")
    with pytest.raises(FileNotFoundError, match="data should name files that exist. Found none at"):
        resolve(MultimodalExperiment(MultimodalData(f"{tmp_path / 'none.py'}:mine")))
    with pytest.raises(ArgumentError, match="can be imported, not 'not_there.at_all'. Found none: No module named"):
        multimodal("not_there.at_all:mine")
    (tmp_path / "half.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="half, which data.name names, could not be imported. ModuleNotFoundError"):
        multimodal("half:mine")


def test_rows_of_another_kind_are_refused(folder):
    file = folder / "shapes.py"
    file.write_text(re.sub(r"    return LabelledModalities.*", "    return rows", file.read_text()))
    with pytest.raises(ValueError, match=r"load\('train', seed=0\) of shapes should give .* Found Modalities"):
        run(read_config(folder / "shapes.toml"), folder / "runs")


def test_a_mistake_leaves_no_directory(folder):
    (folder / "shapes.py").write_text("shapes = 1")
    (folder / "runs").mkdir()
    outcome = type_run(folder)
    assert outcome.exit_code != 0
    assert "should name an evenhand.datasets.MultimodalDataset" in outcome.stderr
    assert not any((folder / "runs").iterdir())


def test_ours_are_such_objects():
    sizes = {
        "mnist_svhn_text": 3,
        "digits_in_three": 3,
        "fashion_mnist": 3,
        "digits_in_five": 5,
        "polymnist": 5,
        "cub": 2,
    }
    assert list(MULTIMODAL) == list(sizes)
    for name, dataset in MULTIMODAL.items():
        assert multimodal(name) is dataset
        assert dataset.name == name
        made = dataset.modalities(dataset.n_latent, n_layers=1, seed=0)
        assert len(made) == sizes[name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_latent": 0}, "n_latent should be an integer >= 1"),
        ({"learning_rate": 0.0}, "learning_rate should be a number > 0"),
        ({"judge_epochs": 0}, "judge_epochs should be an integer >= 1 or None"),
        ({"quick_judge_epochs": 1.5}, "quick_judge_epochs should be an integer >= 1 or None"),
    ],
)
def test_settings_out_of_range_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        replace(MULTIMODAL["digits_in_three"], **options)
