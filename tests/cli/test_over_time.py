"""`compare` and `impute` of rows that belong to things over time."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FAST = ("--epochs", "1")


@pytest.fixture
def panel(tmp_path):
    """25 things seen 3 times."""
    rng = np.random.default_rng(0)
    who, step = np.repeat(np.arange(25), 3), np.tile(np.arange(3), 25)
    level = rng.normal(size=25)[who]
    frame = pd.DataFrame({"who": who, "year": 2000 + step, "a": level + step, "b": np.where(level > 0, "x", "y")})
    frame.loc[::5, "a"] = np.nan
    frame.to_csv(tmp_path / "panel.csv", index=False)
    return "panel.csv"


def test_plain_and_impartial_training_are_compared(panel, go):
    options = ("--id", "who", "--time", "year", "--steps", 2, "--seeds", 1, "--methods", "imtlg")
    result = go("compare", panel, *options, "--page", "page.html")
    assert result.exit_code == 0, result.stderr
    assert "panel.csv: 75 rows in 25 histories, 2 columns to learn." in result.stdout
    assert "A variational autoencoder (LongitudinalVAE) learnt 2 columns" in result.stdout
    assert "evenhand impute panel.csv -o panel-filled.csv --id who --time year --method" in result.stdout
    assert "directly, which those above do not" not in result.stdout
    assert "LongitudinalVAE" in Path("page.html").read_text()
    again = go("compare", panel, "--model", "longitudinal", *options, "--json")
    document = json.loads(again.stdout)
    assert {column["column"] for column in document["columns"]} == {"a", "b"}
    assert document["impartial"]["method"] == "imtlg"


def test_another_family_is_compared(panel, go):
    result = go("compare", panel, "--model", "vaem", "--steps", 2, "--seeds", 1, "--methods", "imtlg", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert Path(document["folder"]).name.startswith("panel-vaem-elbo-")
    assert any("--family vaem" in one["next"] for one in document["verdict"])


def test_holes_are_filled_by_a_model_that_is_saved(panel, go):
    over_time = ("--id", "who", "--time", "year")
    result = go("impute", panel, "-o", "filled.csv", *over_time, *FAST, "--save-model", "m.safetensors")
    assert result.exit_code == 0, result.stderr
    assert "75 rows in 25 histories, 2 columns to learn." in result.stdout
    assert "on hidden cells of held-out histories" in result.stdout
    assert "15 missing cells filled." in result.stdout
    before, after = pd.read_csv(panel), pd.read_csv("filled.csv")
    assert list(after) == list(before)
    assert not after.isna().any().any()
    assert after["a"][before["a"].notna()].equals(before["a"].dropna())
    again = go("impute", panel, "-o", "again.csv", *over_time, "--model", "m.safetensors", "--json")
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["filled"] == 15
    assert Path("again.csv").read_text() == Path("filled.csv").read_text()
    other = go("impute", panel, "-o", "x.csv", "--id", "b", "--time", "year", "--model", "m.safetensors")
    assert "--id should be 'who', as in the saved model. Found 'b'." in other.stderr


def test_the_method_of_imputation_matters(panel, go):
    written = []
    for method in ("sum", "imtlg"):
        name = f"{method}.safetensors"
        options = ("--method", method, "--kl-weight", "1", "--save-model", name, "--epochs", "2")
        assert go("impute", panel, "-o", f"{method}.csv", "--id", "who", "--time", "year", *options).exit_code == 0
        written.append(Path(name).read_bytes())
    assert written[0] != written[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "--id", "who"], "--time should name the column that says when, for rows over time. Found none."),
        (["compare", "--model", "longitudinal"], "--id should name the column that says whose a row is"),
        (["compare", "--model", "vae", "--id", "who"], "--model should be longitudinal where --id and --time are"),
        (["compare", "--model", "hivea"], "--model should be one of twoway, vae, hivae, vaem, longitudinal"),
        (["compare", "--id", "wo", "--time", "year"], "--id should name a column of the table ('who'"),
        (["compare", "--id", "who", "--time", "who"], "be another column than"),
        (["impute", "-o", "x.csv", "--time", "year"], "--id should name the column that says whose a row is"),
        (
            ["impute", "-o", "x.csv", "--id", "who", "--time", "yer"],
            "--time should name a column of DATA (who, year,",
        ),
        (["impute", "-o", "x.csv", "--id", "who", "--time", "year", "--draws", "2"], "--draws should be left out"),
        (
            ["impute", "-o", "x.csv", "--id", "who", "--time", "year", "--family", "vae"],
            "--family should be left out",
        ),
        (["impute", "-o", "x.csv", "--id", "who", "--time", "year", "--model", "no"], "--model should be a file"),
    ],
)
def test_mistakes_are_refused(panel, go, words, message):
    result = go(words[0], panel, *words[1:])
    assert result.exit_code == 2, result.stdout
    assert message in result.stderr
