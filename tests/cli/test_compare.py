"""`compare` and what it prints."""

import json
import shlex
from pathlib import Path

from evenhand.cli._compare import how_to_go_on
from evenhand.cli._console import Console
from evenhand.cli._report_words import MOST, enumerated, show_compared, show_rules, show_verdict
from evenhand.lab import Data, Folder, TableExperiment, TableReport, compared
from evenhand.tables.schema import Column, Kind, Schema

from ..lab._reports import table_report
from .conftest import MARKUP, STEERING


def test_everything_that_was_assumed_is_said(runs):
    _, _, result = runs
    said = result.stdout
    assert "people.csv: 60 rows, 3 columns to learn." in said
    assert "Whole numbers from" in said
    assert "Is constant, all its cells are 1." in said
    assert result.stderr == ""


def test_the_table_has_every_column_and_the_same_rate(runs):
    _, _, result = runs
    header = next(line for line in result.stdout.splitlines() if "impartial" in line and "gain" in line)
    names = ["column", "kind", "trivial", "plain", "impartial", "gain", "hidden:", "trivial", "plain", "impartial"]
    assert header.split() == names
    assert "nats on the latent variables" in result.stdout
    assert "By kind" in result.stdout


def test_names_are_printed_as_they_are_but_steer_no_terminal(runs):
    _, _, result = runs
    assert result.stdout.count(MARKUP) >= 2
    assert "\x1b" not in result.stdout
    assert "in\ufffd[31mcome" in result.stdout


def test_the_page_is_written_and_the_run_is_not_done_again(runs, go):
    folder, command, result = runs
    (run,) = folder.iterdir()
    assert str(run / "report.html") in result.stdout
    before = (run / "report.json").stat().st_mtime_ns
    again = go("--json", *command, "--page", "mine.html")
    assert again.exit_code == 0
    assert (run / "report.json").stat().st_mtime_ns == before
    document = json.loads(again.stdout)
    assert document["page"] == "mine.html"
    assert {c["column"] for c in document["columns"]} == {MARKUP, STEERING, "region"}
    gains = [c["gain"] for c in document["columns"]]
    assert gains == sorted(gains, reverse=True)
    assert {"error", "rate", "error_at_the_same_rate", "beyond_the_curve"} <= set(document["plain"])
    report = json.loads((run / "report.json").read_text())
    assert report["command"].startswith("evenhand compare ")


def test_neglect_says_what_it_is_measured_by(capsys):
    report = table_report()
    report["trivial"]["columns"] = [0.0] * 6
    show_compared(Console(), compared(TableReport(report)))
    said = " ".join(capsys.readouterr().out.split())
    assert "After plain training no better than their mean or mode (of the first seed): 'age'" in said
    assert "Medians over seeds; trivial: guessing the mean or the mode, first seed" in said


def test_it_ends_with_what_to_type_next_and_the_names_are_those_that_the_options_take(runs, go, table):
    _, command, result = runs
    document = json.loads(go("--json", *command).stdout)
    said = result.stdout.partition("What to take")[2]
    assert [one["measure"] for one in document["verdict"]] == ["hidden", "log_likelihood", "error"]
    for one in document["verdict"]:
        assert one["words"] in said
        assert f"  {one['next']}\n" in said.partition("What to type next")[2]
    impute, sample = (shlex.split(one["next"]) for one in document["verdict"][:2])
    assert impute[:3] == ["evenhand", "impute", str(table)]
    for typed in (impute, sample):
        done = go(*typed[1:], "--epochs", "1", "--device", "cpu", "--quiet")
        assert done.exit_code == 0, done.stderr
    assert Path("people-filled.csv").is_file()
    assert Path("people-new.csv").is_file()


def test_too_few_rows_are_said_to_be_too_few(runs):
    _, _, result = runs
    assert "Too few rows: 12 rows to test on." in result.stdout
    assert "There are too few rows to tell them apart, so it is the simplest." in result.stdout


def test_a_wide_table_fits_on_a_screen(capsys):
    names = [f"column {i}" for i in range(500)]
    schema = Schema(
        tuple(Column(name, Kind("real"), reason="Numbers.") for name in names), dict.fromkeys("abc" * 99, "x")
    )
    show_rules(Console(), schema, [f"{name} was converted." for name in names])
    found = compared(TableReport(table_report(columns=names, kinds=["real"])))
    show_compared(Console(), found)
    show_verdict(Console(), found)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 100
    assert any("500" in line for line in lines)
    show_rules(Console(), schema, [], everything=True)
    assert len(capsys.readouterr().out.splitlines()) > 500


def test_enumerations_are_short():
    assert enumerated(["a", "b"]) == "'a', 'b'"
    assert enumerated(list("abcdefghij")).endswith("'h' and 2 more")
    assert len(enumerated(["n" * 500])) < 50
    assert MOST < 30


def test_where_there_is_no_checkpoint_nobody_is_told_to_go_on_from_there(tmp_path):
    folder = Folder(tmp_path, TableExperiment(Data("hi")))
    folder.begin()
    assert "There is no checkpoint yet" in how_to_go_on(folder, "evenhand run x")
    (folder.path / "checkpoint.pt").touch()
    assert how_to_go_on(folder, "evenhand run x") == "To go on from the last checkpoint: evenhand run x"


def test_quiet_prints_nothing(runs, go):
    _, command, _ = runs
    for words in (["--quiet", *command], [*command, "-q"]):
        result = go(*words)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_overrides_and_methods_are_checked_before_training(table, go):
    wrong = go("compare", table, "training.epoch=3")
    assert wrong.exit_code == 2
    assert "Did you mean training.epochs?" in wrong.stderr
    assert wrong.stdout == ""  # a mistake is not hidden below what was read from the file
    wrong = go("compare", table, "--methods", "imtlq")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("Error: --methods should be among sum, ")
    assert "Did you mean 'imtlg'?" in wrong.stderr


def test_bad_data_fail_without_a_traceback(go, tmp_path):
    (tmp_path / "few.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "broken.csv").write_text("a,b\n1,2,3\n")
    for verb in ("compare", "diagnose"):
        result = go(verb, "few.csv")
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: data should have at least 20 rows")
        assert "Traceback" not in result.stderr
        assert go(verb, "broken.csv").exit_code == 1
        assert go(verb, "absent.csv").exit_code == 2


def test_a_schema_is_used(table, go, tmp_path):
    assert go("schema", table, "--ignore", "region", "-o", "schema.toml").exit_code == 0
    options = ("--schema", "schema.toml", "--seeds", 1, "--steps", 2, "--methods", "sum", "--json")
    result = go("compare", table, *options, "evaluation.generate=0")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert len(document["columns"]) == 2
    assert "impartial" not in document
    assert go("compare", table, "--schema", "no.toml").exit_code == 2
    assert "public data sets have their own schema" in go("compare", "hi", "--schema", "schema.toml").stderr


def test_steps_are_those_of_the_rows_that_are_taken(go, table):
    done = go("compare", table, "--steps", "4", "--seeds", "1", "--methods", "imtlg", "--json", "data.rows=30")
    report = json.loads((Path(json.loads(done.stdout)["folder"]) / "report.json").read_text())
    assert report["data"]["rows"] == 30
    assert report["config"]["training"]["epochs"] == 4  # one batch each
