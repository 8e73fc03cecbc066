"""`acquire`: which missing cell to ask for next."""

import json

import numpy as np
import pandas as pd
import pytest

from evenhand.cli._acquire import flat

FAST = ("--method", "sum", "--kl-weight", "1", "--epochs", "2", "--device", "cpu")


@pytest.fixture
def rows(tmp_path):
    """Twelve rows whose target is missing, and two columns that may be."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80), "c": rng.normal(size=80)})
    frame["y"] = frame.a + 0.1 * rng.normal(size=80)
    frame.loc[:11, ["a", "b", "y"]] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return "rows.csv"


def test_cells_are_named_and_written(rows, go):
    result = go(
        "acquire", rows, "--target", "y", "--budget", 2, "-o", "ask.csv", "--save-model", "m.safetensors", *FAST
    )
    assert result.exit_code == 0, result.stderr
    assert "What tells most about 'y'" in result.stdout
    assert "... and 2 more rows; -o OUT writes all." in result.stdout
    asked = pd.read_csv("ask.csv")
    assert list(asked) == ["row", "column", "nats"]
    assert asked.groupby("row").column.apply(set).tolist() == [{"a", "b"}] * 12
    again = go("acquire", rows, "--target", "y", "--model", "m.safetensors", "--json")
    document = json.loads(again.stdout)
    assert document["target"] == "y"
    first = asked.groupby("row").first().column.tolist()
    assert [record["column"] for record in document["asked"]] == first


def test_rows_with_nothing_else_to_ask(rows, go):
    frame = pd.read_csv(rows)
    frame.fillna({"a": 0.0, "b": 0.0}).to_csv("full.csv", index=False)
    result = go("acquire", "full.csv", "--target", "y", *FAST)
    assert "Nothing to ask: rows without 'y' have no other missing cell." in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "z"], "--target should be one of the columns to learn: a, b, c, y. Found 'z'"),
        (["--target", "c"], "--target should be missing in some rows. Found no hole in 'c'"),
        (["--target", "y", "--family", "hivae"], "--family should be one of twoway, vae, vaem here. Found 'hivae'"),
        (["--target", "y", "--model", "no.safetensors"], "--model should be a file that --save-model wrote"),
        (["--target", "y", "-o", "rows.csv"], "Name another file"),
    ],
)
def test_mistakes_are_refused_before_training(rows, go, monkeypatch, words, message):
    monkeypatch.setattr("evenhand.tables.estimator.TabularVAE.fit", lambda *_: pytest.fail("trained"))
    result = go("acquire", rows, *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_rows_are_counted_from_one():
    assert flat([{}, {"a": 0.5, "b": 0.1}]) == [
        {"row": 2, "column": "a", "nats": 0.5},
        {"row": 2, "column": "b", "nats": 0.1},
    ]
