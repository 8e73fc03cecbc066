"""`impute`: missing cells are filled, and nothing else changes."""

import json
from pathlib import Path

import pandas as pd

from evenhand.cli._impute import numbered

from .conftest import FAST, STEERING, make_frame


def test_missing_cells_are_filled_and_nothing_else_changes(model):
    _, out, result = model
    before, after = make_frame(), pd.read_csv(out)
    assert list(after.columns) == list(before.columns)
    assert not after.isna().any().any()
    known = before[STEERING].notna()
    pd.testing.assert_series_equal(after[STEERING][known], before[STEERING][known])
    assert (after["constant"] == 1).all()
    assert "Chosen: method 'sum' with KL weight 0.3" in result.stdout
    assert f"{int(before.isna().sum().sum())} missing cells filled." in result.stdout
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
    assert (result.exit_code, result.stderr) == (130, "Interrupted. Nothing was written.\n")
    assert not Path("out.csv").exists()


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
    assert f"{int(frame.isna().sum().sum())} missing cells filled." in result.stdout
    assert list(pd.read_parquet("filled.parquet").columns) == ["0", "1", "2"]


def test_replaced_categories_are_counted(model, go):
    saved, _, _ = model
    frame = make_frame()
    frame.loc[:2, "region"] = "east"
    holes = int(frame.isna().sum().sum())
    frame.to_csv("new.csv", index=False)
    result = go("impute", "new.csv", "-o", "filled.csv", "--model", saved)
    assert (
        f"{holes} missing cells filled.\n3 cells replaced, whose categories the model has never seen.\n"
        in result.stdout
    )
    assert "'east'" in result.stderr
    frame["region"] = frame["region"].astype("category")
    frame.to_parquet("new.parquet")
    document = json.loads(go("impute", "new.parquet", "-o", "f.parquet", "--model", saved, "--json").stdout)
    assert (document["filled"], document["replaced"]) == (holes, 3)
    assert "east" not in pd.read_parquet("f.parquet")["region"].tolist()


def test_draws_are_numbered_before_the_ending():
    assert numbered(Path("x/out.v2.csv"), 3) == Path("x/out.v2-3.csv")
    assert numbered(Path("out.csv.gz"), 1) == Path("out-1.csv.gz")


def test_the_family_of_networks_may_be_named(go, table):
    found = [go("impute", table, "-o", f"{i}.csv", *FAST, *more) for i, more in enumerate([(), ("--family", "vae")])]
    assert [result.exit_code for result in found] == [0, 0]
    assert Path("0.csv").read_text() != Path("1.csv").read_text()
    result = go("impute", table, "-o", "2.csv", "--family", "gan")
    assert result.exit_code != 0
    assert "--family should be one of twoway, vae, hivae, vaem. Found 'gan'." in result.stderr


def test_a_long_file_is_filled_part_by_part(table, go, monkeypatch):
    monkeypatch.setattr("evenhand.tables.frames._parquet.PART", 17)
    frame = pd.read_csv(table)
    frame.to_parquet("long.parquet", index=False)
    result = go("impute", "long.parquet", "-o", "out.parquet", "--rows", 60, *FAST)
    assert result.exit_code == 0, result.stderr
    assert "60 rows" in result.stdout
    before, after = pd.read_parquet("long.parquet"), pd.read_parquet("out.parquet")
    learnt = [name for name in before if not after[name].isna().any()]
    assert f"{int(before[learnt].isna().sum().sum())} missing cells filled." in result.stdout
    pd.testing.assert_frame_equal(after.where(before.notna()), before.where(before.notna()), check_dtype=False)
    for wrong in (("data.csv", "-o", "out.parquet"), ("long.parquet", "-o", "out.csv")):
        assert go("impute", *wrong, "--rows", 60).exit_code == 2
    assert go("impute", "long.parquet", "-o", "out.parquet", "--rows", 60, "--draws", 2).exit_code == 2
