"""Files of strangers at the shell: nothing is lost, nothing is overwritten, and what is assumed is printed."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from .conftest import FAST, MARKUP, make_frame


def never(*_, **__):
    raise AssertionError("trained")


@pytest.mark.parametrize("verb", ["impute", "sample"])
def test_the_input_is_not_overwritten(verb, go, monkeypatch):
    monkeypatch.setattr("evenhand.tables.estimator.TabularVAE.fit", never)
    make_frame().to_csv("w.csv", index=False)
    before = Path("w.csv").read_text()
    for out in ("w.csv", "./w.csv"):
        result = go(verb, "w.csv", "-o", out, *FAST)
        assert result.exit_code == 2
        assert "OUT should be another file than DATA, which would be overwritten. Found w.csv." in result.stderr
    assert Path("w.csv").read_text() == before
    assert "Add --in-place if you mean it" in go("impute", "w.csv", "-o", "w.csv").stderr


def test_draws_do_not_overwrite_the_input(go, monkeypatch):
    monkeypatch.setattr("evenhand.tables.estimator.TabularVAE.fit", never)
    make_frame().to_csv("w-2.csv", index=False)
    assert "OUT should be another file" in go("impute", "w-2.csv", "-o", "w.csv", "--draws", 3).stderr


def test_in_place_is_asked_for(model, go):
    saved, _, _ = model
    make_frame().to_csv("w.csv", index=False)
    assert go("impute", "w.csv", "--in-place", "--model", saved).exit_code == 0
    assert not pd.read_csv("w.csv").isna().any(axis=None)
    assert go("impute", "w.csv", "--in-place", "-o", "w.csv", "--model", saved).exit_code == 0
    assert "--in-place should be used without -o" in go("impute", "w.csv", "--in-place", "-o", "v.csv").stderr
    assert "-o OUT should name the file to write. Found none." in go("impute", "w.csv").stderr
    assert "--in-place should be used with a file" in go("impute", "wine", "--in-place").stderr


def test_columns_are_found_by_name(model, go):
    saved, _, _ = model
    frame = make_frame()
    frame[["constant", "region", *frame.columns[:2]]].to_csv("turned.csv", index=False)
    frame.drop(columns="constant").to_csv("fewer.csv", index=False)
    for name in ("turned", "fewer"):
        result = go("impute", f"{name}.csv", "-o", "out.csv", "--model", saved)
        assert result.exit_code == 0, result.stderr
        out = pd.read_csv("out.csv")
        assert list(out.columns) == list(pd.read_csv(f"{name}.csv").columns)
        assert not out.isna().any(axis=None)
    frame.drop(columns="region").to_csv("fewer.csv", index=False)
    assert "X should have the columns of the schema. Found none called 'region'." in (
        go("impute", "fewer.csv", "-o", "out.csv", "--model", saved).stderr
    )


def test_a_folder_is_called_a_folder(go):
    Path("dir.csv").mkdir()
    result = go("compare", "dir.csv")
    assert result.exit_code == 2
    assert result.stderr == "Error: DATA should be a file. Found the folder 'dir.csv'. Name a file in it.\n"
    assert "Did you mean 'dir.csv'" not in go("compare", "dri.csv").stderr  # which is no file


def test_a_file_without_names_and_words_for_missing_cells(go):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60).round(2), "b": rng.choice(["u", "v", "w"], 60)}).astype(object)
    frame.iloc[::4, 0] = "gone"
    frame.to_csv("t.csv", index=False, header=False)
    document = json.loads(go("schema", "t.csv", "--missing", "gone", "--json").stdout)
    assert [c["name"] for c in document["columns"]] == ["x1", "x2"]
    assert document["columns"][0]["kind"] == "real"
    assert "The first line was taken as data" in document["conversions"][0]
    result = go("impute", "t.csv", "-o", "out.csv", "--no-header", "--missing", "gone", *FAST)
    assert result.exit_code == 0, result.stderr
    before, after = (Path(name).read_text().splitlines() for name in ("t.csv", "out.csv"))
    assert len(after) == 60  # no names were put above it
    assert [line for i, line in enumerate(after) if i % 4] == [line for i, line in enumerate(before) if i % 4]
    assert "gone" not in Path("out.csv").read_text()
    assert "15 missing cells filled." in result.stdout
    assert "These are too few to rely on what is learnt" in result.stdout
    assert "--header and --missing should be for files" in go("impute", "wine", "-o", "o.csv", "--no-header").stderr


def test_a_file_with_commas_and_signs_is_filled_in_place_to_the_letter(go):
    rng = np.random.default_rng(0)
    sizes = [f"{x:.2f} €".replace(".", ",") for x in rng.gamma(2, 10, 80)]
    days = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024" for i in range(80)]
    kinds = ["süd", '"nord; ost"']
    lines = [
        "Größe;Tag;Art",
        *(";".join([s, d, kinds[i % 2]]) for i, (s, d) in enumerate(zip(sizes, days, strict=True))),
    ]
    holed = [";".join(["", *line.split(";")[1:]]) if i % 8 == 1 else line for i, line in enumerate(lines)]
    Path("t.csv").write_bytes("\r\n".join(holed).encode("cp1252"))
    result = go("impute", "t.csv", "--in-place", *FAST)
    assert result.exit_code == 0, result.stderr
    assert "10 missing cells filled." in result.stdout
    after = Path("t.csv").read_bytes().decode("cp1252").split("\r\n")
    assert [line for i, line in enumerate(after) if i % 8 != 1] == [
        line for i, line in enumerate(lines) if i % 8 != 1
    ]
    for i in range(1, 81, 8):
        assert after[i].split(";")[1:] == lines[i].split(";")[1:]
        assert re.fullmatch(r"[0-9]+,[0-9]{2} €", after[i].split(";")[0])


def test_fills_have_the_digits_of_their_column(go):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80).round(3), "n": pd.array(rng.poisson(5, 80), "Int64")})
    frame.iloc[:10, 0] = np.nan
    frame.iloc[20:30, 1] = pd.NA
    frame.to_csv("t.csv", index=False)
    assert go("impute", "t.csv", "-o", "out.csv", *FAST).exit_code == 0
    cells = [line.split(",") for line in Path("out.csv").read_text().split()[1:]]
    assert all(len(x.partition(".")[2]) <= 3 for x, _ in cells)
    assert all(n.isdigit() for _, n in cells)


def test_holes_that_stay_are_named(go):
    frame = make_frame().drop(columns="constant").assign(remark=[None, *["fine"] * 59])
    frame.to_csv("t.csv", index=False)
    result = go("impute", "t.csv", "-o", "out.csv", *FAST)
    assert "1 are left, in ignored columns: 'remark'." in result.stdout
    assert result.stderr == ""


def test_too_few_rows_are_said(go):
    make_frame()[:25].to_csv("few.csv", index=False)
    result = go("compare", "few.csv", "--steps", 2, "--seeds", 1, "--methods", "imtlg")
    assert "Only 25 rows: too few to rely on." in result.stdout
    assert "Only 25 rows: too few to rely on." in next(Path("runs").glob("*/report.html")).read_text()


def test_diagnosis_and_comparison_have_folders_of_their_own(go, table):
    assert go("diagnose", table, "--steps", 2).exit_code == 0
    assert [p.name.rpartition("-")[0] for p in Path("runs").iterdir()] == ["people-diagnose-vae-elbo"]


def test_a_setting_that_is_not_there_is_named(go, table):
    assert "Error: training should have the keys epochs, " in go("compare", table, "training.epoch=3").stderr


def test_a_word_in_a_column_that_is_declared_a_number(go):
    frame = make_frame().astype({MARKUP: object})
    frame.loc[::3, MARKUP] = "abc"
    frame.to_csv("t.csv", index=False)
    shown = go("schema", "t.csv", "--set", f"{MARKUP}=real", "-o", "s.toml")
    assert "cells are numbers; 'abc' is not: treated as missing." in shown.stdout
    result = go("impute", "t.csv", "-o", "out.csv", "--schema", "s.toml", *FAST)
    assert result.exit_code == 0, result.stderr
    assert "'abc' is not: treated as missing." in result.stderr
    assert pd.read_csv("out.csv")[MARKUP].dtype.kind == "f"
