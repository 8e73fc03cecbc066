"""`impute`, `sample` and `schema`."""

import json
from pathlib import Path

import pandas as pd
import pytest

from evenhand.cli._console import BadArgumentError
from evenhand.cli._impute import numbered
from evenhand.cli._sample import parse_given
from evenhand.schema import Column, Schema

from .conftest import MARKUP, ROWS, STEERING, make_frame

FAST = ("--method", "sum", "--kl-weight", "0.3", "--epochs", "1", "--device", "cpu")


@pytest.fixture(scope="module")
def model(table, tmp_path_factory):
    from typer.testing import CliRunner

    from evenhand.cli._app import app

    folder = tmp_path_factory.mktemp("model")
    out, saved = folder / "filled.csv", folder / "model.safetensors"
    command = ["impute", str(table), "-o", str(out), "--save-model", str(saved), *FAST]
    result = CliRunner().invoke(app, command, prog_name="evenhand")
    assert result.exit_code == 0, result.stderr
    return saved, out, result


def test_holes_are_filled_and_nothing_else_changes(model):
    _, out, result = model
    before, after = make_frame(), pd.read_csv(out)
    assert list(after.columns) == list(before.columns)
    assert not after.isna().any().any()
    known = before[STEERING].notna()
    pd.testing.assert_series_equal(after[STEERING][known], before[STEERING][known])
    assert (after["constant"] == 1).all()
    assert "Chosen: method 'sum' with KL weight 0.3" in result.stdout
    assert f"{int(before.isna().sum().sum())} holes filled." in result.stdout
    assert "Is constant" in result.stdout


def test_a_saved_model_fills_without_training(model, table, go):
    saved, out, _ = model
    result = go("impute", table, "-o", "again.csv", "--model", saved, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["written"] == ["again.csv"]
    assert Path("again.csv").read_text() == out.read_text()
    assert go("impute", table, "-o", "again.csv", "--model", saved, "--method", "sum").exit_code == 2
    assert go("impute", table, "-o", "again.csv", "--model", "no.safetensors").exit_code == 2
    Path("broken.safetensors").write_text("broken")
    assert go("impute", table, "-o", "again.csv", "--model", "broken.safetensors").exit_code == 1


def test_several_draws_differ(model, table, go):
    saved, _, _ = model
    assert go("impute", table, "-o", "out.csv.gz", "--model", saved, "--draws", 2, "-q").exit_code == 0
    assert sorted(p.name for p in Path().iterdir()) == ["out-1.csv.gz", "out-2.csv.gz"]
    first, second = (pd.read_csv(f"out-{i}.csv.gz") for i in (1, 2))
    assert not first.equals(second)
    assert not first.isna().any().any()


def test_outputs_are_checked_before_training(table, go, monkeypatch):
    def never(*_, **__):
        raise AssertionError("trained")

    monkeypatch.setattr("evenhand.estimators.TabularVAE.fit", never)
    Path("folder.csv").mkdir()
    for verb in ("impute", "sample"):
        for out, words in (
            ("out.xlsx", "OUT should end in .csv"),
            ("no/out.csv", "in a folder that exists"),
            ("folder.csv", "should be a file"),
        ):
            result = go(verb, table, "-o", out)
            assert (result.exit_code, result.stdout) == (2, "")
            assert words in result.stderr
        assert go(verb, table, "-o", "out.csv", "--save-model", "model.bin").exit_code == 2
        assert go(verb, table, "-o", "out.csv", "--method", "imtlq").exit_code == 2
        assert go(verb, table, "-o", "out.csv", "--kl-weight", "much").exit_code == 2
        assert go(verb, table, "-o", "out.csv", "--kl-weight", "-1").exit_code == 2
    assert "device should be" in go("impute", table, "-o", "out.csv", "--device", "abacus").stderr
    assert "Rename it" in go("impute", table, "-o", "out.xlsx").stderr  # a table that is read would be saved as CSV
    assert "--method should be among auto, sum" in go("impute", table, "-o", "out.csv", "--method", "imtlq").stderr
    result = go("sample", table, "-o", "out.csv", "--given", "planet=x")
    assert (result.exit_code, result.stdout) == (2, "")
    monkeypatch.setattr("evenhand.cli._arguments.os.access", lambda path, mode: False)
    assert "folder that can be written to" in go("impute", table, "-o", "out.csv").stderr


def test_a_failure_leaves_the_old_output(table, go, monkeypatch):
    def diverge(*_, **__):
        raise FloatingPointError("Training diverged at column x.")

    monkeypatch.setattr("evenhand.estimators.TabularVAE.fit", diverge)
    Path("out.csv").write_text("old")
    result = go("impute", table, "-o", "out.csv")
    assert (result.exit_code, result.stderr) == (1, "Error: Training diverged at column x.\n")
    assert Path("out.csv").read_text() == "old"


def test_interrupted_training_ends_with_130(table, go, monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("evenhand.estimators._search.Search._train", stop)
    result = go("impute", table, "-o", "out.csv", *FAST)
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")
    assert not Path("out.csv").exists()


def test_new_rows_have_what_was_given(model, go):
    saved, _, _ = model
    fixed = ("--given", "region=south", "--given", f"{MARKUP}=30")
    result = go("sample", saved, "-n", 7, "-o", "new.parquet", *fixed, "--json")
    assert result.exit_code == 0, result.stderr
    new = pd.read_parquet("new.parquet")
    assert len(new) == json.loads(result.stdout)["rows"] == 7
    assert (new["region"] == "south").all()
    assert (new[MARKUP] == 30).all()
    assert list(new.columns) == [MARKUP, STEERING, "region"]
    assert "should be one of north, south, west" in go("sample", saved, "-o", "n.csv", "--given", "region=x").stderr
    assert go("sample", saved, "-o", "n.csv", "--given", "planet=x").exit_code == 2
    assert go("sample", saved, "-o", "n.csv", "--epochs", 3).exit_code == 2


def test_seeds_decide(model, go):
    saved, _, _ = model
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        assert go("sample", saved, "-n", 5, "-o", name, "--seed", seed).exit_code == 0
    a, b, c = (Path(f"{name}.csv").read_text() for name in "abc")
    assert a == b != c


def test_sample_learns_a_file(table, go):
    result = go("sample", table, "-n", 3, "-o", "new.csv", *FAST)
    assert result.exit_code == 0, result.stderr
    assert f"{ROWS} rows, 3 columns to learn." in result.stdout
    assert len(pd.read_csv("new.csv")) == 3


def test_given_values_have_the_type_of_their_column():
    schema = Schema((Column("a", "real"), Column("a=b", "binary", (1, 2)), Column("day", "real", unit="days")))
    found = parse_given(["a=1.5", "a=b=2", "day=2020-01-31"], schema)
    assert found["a"] == 1.5
    assert found["a=b"] == 2
    assert str(found["day"]) == "2020-01-31"
    for wrong in ("a=x", "a=b=3", "day=soon", "b=1", "a"):
        with pytest.raises(BadArgumentError, match="--given"):
            parse_given([wrong], schema)


def test_draws_are_numbered_before_the_ending():
    assert numbered(Path("x/out.v2.csv"), 3) == Path("x/out.v2-3.csv")
    assert numbered(Path("out.csv.gz"), 1) == Path("out-1.csv.gz")


def test_a_schema_is_shown_changed_and_written(table, go):
    result = go("schema", table, "--set", f"{MARKUP}=real", "--ignore", "region", "-o", "schema.toml")
    assert result.exit_code == 0, result.stderr
    assert MARKUP in result.stdout
    assert "Set to real by hand." in result.stdout
    assert "Ignored by hand." in result.stdout
    schema = Schema.read("schema.toml")
    assert str(schema[MARKUP].kind) == "real"
    assert set(schema.ignored) == {"region", "constant"}
    again = go("schema", "schema.toml", "--set", f"{MARKUP}=positive", "-o", "schema.toml", "--json")
    assert again.exit_code == 0, again.stderr
    document = json.loads(again.stdout)
    assert document["columns"][0]["kind"] == "positive"
    assert document["written"] == "schema.toml"
    assert str(Schema.read("schema.toml")[MARKUP].kind) == "positive"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "region"], "--set should be COLUMN=KIND"),
        (["--set", "region=ordinl"], "Did you mean 'ordinal'?"),
        (["--ignore", "regin"], "Did you mean 'region'?"),
        (["--set", "region=ordinal", "--ignore", "region"], "should be changed once"),
        (["-o", "schema.json"], "--output should end in .toml"),
    ],
)
def test_wrong_changes_are_refused(table, go, options, words):
    result = go("schema", table, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
