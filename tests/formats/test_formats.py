"""Every release reads what the releases before it wrote."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open

import evenhand
from evenhand import Schema, TabularVAE
from evenhand.common import check_format, read_checkpoint, write_checkpoint
from evenhand.lab import read_reports
from evenhand.tables import LongitudinalVAE

from ._files import HERE, TABLES, answers, answers_over_time, frame, histories, modalities

RELEASES = sorted(path.name for path in HERE.iterdir() if re.fullmatch(r"[\d.]+", path.name))
FORMATS = {"0.1.0": {}, "0.2.0": dict.fromkeys(TABLES, 4)}  # of files; 1 where nothing is said
FILES = [(release, path.stem) for release in RELEASES for path in sorted((HERE / release).glob("*.safetensors"))]


@pytest.fixture(autouse=True)
def _as_saved():
    torch.set_default_dtype(torch.float32)


def saved(release):
    return json.loads((HERE / release / "answers.json").read_text())


def test_releases_are_kept():
    assert list(FORMATS) == RELEASES
    assert {name for release, name in FILES if release == "0.1.0"} == {"vae", "hivae", "weights"}
    assert {name for release, name in FILES if release == "0.2.0"} == {*TABLES, "histories", "weights"}


@pytest.mark.parametrize(("release", "name"), [file for file in FILES if file[1] in TABLES])
def test_a_fitted_table(release, name):
    estimator = TabularVAE.load(HERE / release / f"{name}.safetensors")
    found, expected = answers(estimator), saved(release)[name]
    assert (found["dtypes"], found["reported"]) == (expected["dtypes"], expected["reported"])
    np.testing.assert_allclose(found["codes"], expected["codes"], rtol=1e-4, atol=1e-5)
    pd.testing.assert_frame_equal(pd.DataFrame(found["filled"]), pd.DataFrame(expected["filled"]), rtol=1e-4)
    new = estimator.sample(5)
    assert new.dtypes.astype(str).tolist() == expected["dtypes"]
    assert list(new.columns) == list(frame().columns)
    assert np.isfinite(estimator.score_samples(frame())).all()


@pytest.mark.parametrize("release", RELEASES)
def test_weights_of_modalities(release):
    model, rows = modalities()
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    model.load(HERE / release / "weights.safetensors")
    np.testing.assert_allclose(model.encode(rows).tolist(), saved(release)["weights"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("release", RELEASES)
def test_a_schema(release):
    schema = Schema.read(HERE / release / "schema.toml")
    assert schema == TabularVAE.load(HERE / release / "vae.safetensors").schema_


@pytest.mark.parametrize("release", [release for release, name in FILES if name == "histories"])
def test_a_fitted_model_of_histories(release):
    model = LongitudinalVAE.load(HERE / release / "histories.safetensors")
    found, expected = answers_over_time(model), saved(release)["histories"]
    for what in ("filled", "forecast"):
        pd.testing.assert_frame_equal(pd.DataFrame(found[what]), pd.DataFrame(expected[what]), rtol=1e-4)
    assert len(model.sample(2)) > 0
    assert len(model.transform(histories())) == len(histories())


@pytest.mark.parametrize(("release", "name"), FILES)
def test_files_name_the_version_that_wrote_them(release, name):
    with safe_open(HERE / release / f"{name}.safetensors", framework="pt") as file:
        about = json.loads(file.metadata()["evenhand"])
    assert (about["format"], about["version"]) == (FORMATS[release].get(name, 1), release)


def test_this_release_names_itself(tmp_path):
    modalities()[0].save(tmp_path / "weights")
    with safe_open(tmp_path / "weights", framework="pt") as file:
        assert json.loads(file.metadata()["evenhand"])["version"] == evenhand.__version__


def test_a_newer_format_names_its_version(tmp_path):
    check_format(tmp_path, {"format": 1, "version": "9.0.0"}, 1)  # a newer version of the same format is welcome
    words = rf"newer version of evenhand, 9.0.0 \(format 2; this one, {evenhand.__version__}, reads up to 1\)"
    with pytest.raises(ValueError, match=words):
        check_format(tmp_path, {"format": 2, "version": "9.0.0"}, 1)


def test_weights_of_a_newer_format(tmp_path):
    from safetensors.torch import load_file, save_file

    model, _ = modalities()
    model.save(tmp_path / "weights")
    with safe_open(tmp_path / "weights", framework="pt") as file:
        about = json.loads(file.metadata()["evenhand"]) | {"format": 9, "version": "9.0.0"}
        about.pop("sha256")
    save_file(load_file(tmp_path / "weights"), tmp_path / "weights", metadata={"evenhand": json.dumps(about)})
    with pytest.raises(ValueError, match="newer version of evenhand, 9.0.0"):
        model.load(tmp_path / "weights")


def test_a_checkpoint_of_another_format_names_its_version(tmp_path):
    write_checkpoint(tmp_path, {"settings": {}, "format": 2, "version": "9.0.0"})
    with pytest.raises(ValueError, match="Found format 2, of evenhand 9.0.0. Resume with that version"):
        read_checkpoint(tmp_path, {})


def test_a_report_of_another_format_names_its_version(tmp_path):
    report = {"experiment": "table", "format": 2, "versions": {"evenhand": "9.0.0"}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    with pytest.raises(ValueError, match="of format 1. Found 2, of evenhand 9.0.0; read it with that version"):
        read_reports(tmp_path / "report.json")
