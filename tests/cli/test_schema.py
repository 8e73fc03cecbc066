"""`schema`: kinds shown, changed and written."""

import json
from pathlib import Path

import pytest

from evenhand.tables.schema import Column, Schema

from .conftest import MARKUP


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


def test_advice_can_be_typed(go):
    Path("same.csv").write_text("a,b\n1,x\n1,x\n1,x\n")
    for verb in (["schema"], ["impute", "-o", "out.csv"]):
        result = go(*verb, "same.csv")
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: DATA should have a column to model.")
        assert "'a' (Is constant, all its cells are 1), 'b' (Is constant, all its cells are 'x')." in result.stderr
        assert "then pass --schema: evenhand schema DATA --set column=kind --ignore column -o sch" in result.stderr
    Schema((Column("a", "real"),)).save("schema.toml")
    result = go("schema", "schema.toml", "--set", "a=categorical")
    assert result.exit_code == 2
    assert result.stderr.endswith("Begin with the table: evenhand schema DATA --set column=kind\n")
