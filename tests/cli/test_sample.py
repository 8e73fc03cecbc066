"""`sample`: new rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from evenhand.tables.frames import write_file

from .conftest import FAST, MARKUP, ROWS, STEERING


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


def test_durations_are_given_in_days(go):
    rng = np.random.default_rng(0)
    days = rng.integers(1, 30, ROWS)
    frame = pd.DataFrame({"span": pd.to_timedelta(days, unit="D"), "x": days + rng.normal(size=ROWS)})
    write_file(frame, "spans.parquet")
    result = go("sample", "spans.parquet", "-n", 3, "-o", "new.parquet", "--given", "span=3 days", *FAST)
    assert result.exit_code == 0, result.stderr
    assert pd.read_parquet("new.parquet")["span"].tolist() == [pd.Timedelta(days=3)] * 3
