"""`impute`, `sample` and `schema`."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand.cli._console import BadArgumentError
from evenhand.cli._given import parse_given
from evenhand.cli._impute import numbered
from evenhand.tables.frames import forms_of, write_file
from evenhand.tables.schema import Column, Schema

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

    monkeypatch.setattr("evenhand.tables.estimator.TabularVAE.fit", never)
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

    monkeypatch.setattr("evenhand.tables.estimator.TabularVAE.fit", diverge)
    Path("out.csv").write_text("old")
    result = go("impute", table, "-o", "out.csv")
    assert (result.exit_code, result.stderr) == (1, "Error: Training diverged at column x.\n")
    assert Path("out.csv").read_text() == "old"


def test_interrupted_training_ends_with_130(table, go, monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("evenhand.tables.estimator._search.Search._train", stop)
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


GIVEN = pd.DataFrame(
    {
        "a": [1.5, 2.5],
        "a=b": [1, 2],
        "day": pd.to_datetime(["2020-01-31", "2021-01-31"]),
        "zoned": pd.to_datetime(["2020-01-31T01:00Z", "2021-01-31T02:00Z"]),
        "span": pd.to_timedelta([1, 2.5], unit="D"),
        "n": [3, 4],
        "size": [1.5, 2.0],
        "flag": [True, False],
        "level": [True, False],
    }
)
OF_GIVEN = Schema(
    (
        Column("a", "real"),
        Column("a=b", "binary", (1, 2)),
        Column("day", "real", unit="days"),
        Column("zoned", "real", unit="days"),
        Column("span", "real", unit="days"),
        Column("n", "count"),
        Column("size", "positive"),
        Column("flag", "binary", (False, True)),
        Column("level", "real"),
    )
)
FORMS = forms_of(GIVEN, OF_GIVEN)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=-1.5", -1.5),
        ("a=b=2", 2),
        ("day=2020-01-31", datetime(2020, 1, 31)),
        ("day=2020-01-31 12:30", datetime(2020, 1, 31, 12, 30)),
        ("zoned=2020-01-31T02:00+02:00", datetime(2020, 1, 31, tzinfo=UTC)),
        ("span=3", timedelta(days=3)),
        ("span=0.5", timedelta(hours=12)),
        ("span=3 days", timedelta(days=3)),
        ("span=-36 hours", timedelta(days=-1.5)),
        ("n=0", 0.0),
        ("flag=true", True),
        ("flag=FALSE", False),
        ("flag=True", True),
        ("level=false", 0.0),
        ("level=0.5", 0.5),
    ],
)
def test_given_values_have_the_type_of_their_column(text, value):
    (found,) = parse_given([text], OF_GIVEN, FORMS).values()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=x", "--given a should be a number. Found 'x'."),
        ("a=nan", "--given a should be a number. Found 'nan'."),
        ("a=-inf", "--given a should be a number. Found '-inf'."),
        ("a=b=3", "--given a=b should be one of 1, 2. Found '3'."),
        ("day=3", "--given day should be a date such as 2020-01-31. Found '3'."),
        ("day=NaT", "--given day should be a date"),
        ("day=", "--given day should be a date"),
        ("day=9999-01-01", "--given day should be a time that its column can hold"),
        ("span=soon", "--given span should be a duration such as '3 days', or a number of days. Found 'soon'."),
        ("span=nan", "--given span should be a duration"),
        ("span=NaT", "--given span should be a duration"),
        ("span=inf", "--given span should be a duration"),
        ("span=1e300", "--given span should be a duration"),
        ("n=1.5", "--given n should fit its column. Found 1.5: column 'n' cannot be a count"),
        ("size=0", "--given size should be positive"),
        ("flag=yes", "--given flag should be one of False, True. Found 'yes'."),
        ("level=yes", "--given level should be true, false or a number. Found 'yes'."),
        ("b=1", "--given should be COLUMN=VALUE"),
        ("a", "--given should be COLUMN=VALUE"),
    ],
)
def test_wrong_values_are_not_given(text, words):
    with pytest.raises(BadArgumentError) as error:
        parse_given([text], OF_GIVEN, FORMS)
    assert str(error.value).startswith(words)


def test_a_column_is_given_once():
    with pytest.raises(BadArgumentError, match="Found 'a' twice"):
        parse_given(["a=1", "a=b=1", "a=2"], OF_GIVEN, FORMS)


def test_durations_are_given_in_days(go):
    rng = np.random.default_rng(0)
    days = rng.integers(1, 30, ROWS)
    frame = pd.DataFrame({"span": pd.to_timedelta(days, unit="D"), "x": days + rng.normal(size=ROWS)})
    write_file(frame, "spans.parquet")
    result = go("sample", "spans.parquet", "-n", 3, "-o", "new.parquet", "--given", "span=3 days", *FAST)
    assert result.exit_code == 0, result.stderr
    assert pd.read_parquet("new.parquet")["span"].tolist() == [pd.Timedelta(days=3)] * 3


def test_a_model_that_is_absent_is_called_as_it_was_typed(table, go):
    result = go("sample", "no.safetensors", "-o", "new.csv")
    words = "should be a file that --save-model wrote. Found nothing at no.safetensors."
    assert (result.exit_code, result.stderr) == (2, f"Error: MODEL {words}\n")
    result = go("impute", table, "-o", "new.csv", "--model", "no.safetensors")
    assert (result.exit_code, result.stderr) == (2, f"Error: --model {words}\n")


def test_names_of_columns_that_are_numbers(go):
    frame = make_frame().drop(columns="constant")
    frame.set_axis(range(3), axis=1).to_parquet("numbers.parquet")
    result = go("impute", "numbers.parquet", "-o", "filled.parquet", *FAST)
    assert result.exit_code == 0, result.stderr
    assert f"{int(frame.isna().sum().sum())} holes filled." in result.stdout
    assert list(pd.read_parquet("filled.parquet").columns) == ["0", "1", "2"]


def test_replaced_categories_are_counted(model, go):
    saved, _, _ = model
    frame = make_frame()
    frame.loc[:2, "region"] = "east"
    holes = int(frame.isna().sum().sum())
    frame.to_csv("new.csv", index=False)
    result = go("impute", "new.csv", "-o", "filled.csv", "--model", saved)
    assert f"{holes} holes filled.\n3 cells of categories that the model never saw replaced.\n" in result.stdout
    assert "'east'" in result.stderr
    frame["region"] = frame["region"].astype("category")
    frame.to_parquet("new.parquet")
    document = json.loads(go("impute", "new.parquet", "-o", "f.parquet", "--model", saved, "--json").stdout)
    assert (document["filled"], document["replaced"]) == (holes, 3)
    assert "east" not in pd.read_parquet("f.parquet")["region"].tolist()


def test_advice_can_be_typed(go):
    Path("same.csv").write_text("a,b\n1,x\n1,x\n1,x\n")
    for verb in (["schema"], ["impute", "-o", "out.csv"]):
        result = go(*verb, "same.csv")
        assert result.exit_code == 1
        assert result.stderr.endswith("a, b. Name the kind of one: evenhand schema DATA --set column=kind\n")
    Schema((Column("a", "real"),)).save("schema.toml")
    result = go("schema", "schema.toml", "--set", "a=categorical")
    assert result.exit_code == 2
    assert result.stderr.endswith("Begin with the table: evenhand schema DATA --set column=kind\n")


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
