"""The table of other families than the paper's, held at one rate."""

import json

import pytest

from evenhand.lab import EXHIBITS, TableReport
from evenhand.lab.results import families_at_rate, read_families

from .._reports import table_report

ERRORS = {"sum": [0.30, 0.31, 0.29], "imtlg": [0.20, 0.22, 0.19], "pcgrad": [0.10, 0.11, 0.09]}
VALIDATION = {"sum": 0.3, "imtlg": 0.2, "pcgrad": 0.4}


def held(**changes):
    """A report of three runs held at 3 nats; validation chose not the one that is best on test rows."""
    report = {**table_report(), **changes}
    n = len(report["seeds"])
    report["runs"] = [
        {
            "method": method,
            "kl_weight": "rate:3",
            "restored": True,
            "validation": [VALIDATION[method]] * n,
            "error": errors[:n],
            "hidden": [0.5 - 0.01 * i for i in range(n)],
            "rate": [3.0] * n,
        }
        for method, errors in ERRORS.items()
    ]
    return report


def test_validation_chooses_among_those_that_were_held():
    report = TableReport(held())
    assert (report.plain["method"], report.chosen["method"]) == ("sum", "imtlg")
    (row,) = families_at_rate([held()]).rows
    assert row[2] == "IMTL-G"


def test_clear_differences_are_bold_and_ties_are_not():
    (row,) = families_at_rate([held()]).rows
    assert row[1:3] == ["3", "IMTL-G"]
    plain, impartial, better = row[5:8]
    assert (plain.bold, impartial.bold) == (False, True)
    n = len(held()["seeds"])
    assert better == f"{n}/{n}"
    same = row[8:11]
    assert not any(cell.bold for cell in same[:2])
    assert same[2] == f"0/{n}"
    assert [str(cell) for cell in row[11:14]] == ["-", "-", ""]  # single rows have no other guess


def test_panels_have_two_guesses_of_hidden_cells():
    report = held(experiment="panel")
    for run in report["runs"]:
        run["hidden_through_z"] = run["error"]
    (row,) = families_at_rate([report]).rows
    assert row[0].endswith("LongitudinalVAE")
    assert str(row[8]) == str(row[5])
    assert str(row[11]) != "-"


def test_reports_without_such_runs_are_left_out(tmp_path):
    for name, report in (("with", held()), ("without", table_report())):
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    found = EXHIBITS["families"].reports([tmp_path])
    assert len(found) == 1
    (tmp_path / "with.json").unlink()
    with pytest.raises(FileNotFoundError, match="There should be finished runs for families .*rate:3"):
        read_families("families", [tmp_path], print, experiment="", any_network=False)
