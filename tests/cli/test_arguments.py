"""What is checked before any work begins."""

from pathlib import Path


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


def test_what_is_no_schema_is_named(table, go):
    wrong = go("compare", table, "--schema", table)
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("Error: --schema should name a schema, as `schema -o` writes it. ")
    assert str(table) in wrong.stderr


def test_runs_have_to_be_written_somewhere(table, go, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    wrong = go("compare", table, "--steps", "1", "--out", "file/runs")
    assert wrong.exit_code == 2
    assert wrong.stderr == f"Error: --out should be a folder that can be written to. Found {tmp_path / 'file'}.\n"
    monkeypatch.setattr("evenhand.cli._arguments.os.access", lambda path, mode: False)
    wrong = go("compare", table, "--steps", "1", "--out", "runs/deep")
    assert (wrong.exit_code, wrong.stderr.endswith(f"Found {tmp_path}.\n")) == (2, True)
    assert not (tmp_path / "runs").exists()


def test_an_unknown_data_set_suggests_a_close_one(go, tmp_path):
    result = go("compare", "adlt")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: DATA should be a file, or the name of a public data set. Found 'adlt'. Did you mean 'adult'?\n"
    )
    (tmp_path / "people.csv").write_text("a\n1\n")
    assert "Did you mean 'people.csv'?" in go("compare", "people.cvs").stderr
    assert "`evenhand datasets` lists" in go("compare", "zzzzzz").stderr
