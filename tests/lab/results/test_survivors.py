"""Counts of survivors, from reports alone."""

import json
from pathlib import Path

import pytest

from evenhand.lab import EXHIBITS
from evenhand.lab.results import collected, survival
from evenhand.modalities.training import Health, runs_away, starves

from .._reports import survival_report

PAPER = Path(__file__).parents[3] / "paper" / "survival"
HUNGRY, AWAY = (0.5, 0.495, 0.005), (17.0, 20_000.0, 15.0)


def cells(table):
    return [[str(cell) for cell in row] for row in table.rows]


def test_lives_and_deaths_are_counted_by_arm():
    reports = [
        survival_report(seed=0),
        survival_report(HUNGRY, seed=1),
        survival_report(rate=AWAY, seed=2, sentences=["The posterior has run away."]),
        survival_report(HUNGRY, AWAY, seed=3),
        survival_report(goals="LI", restored=False),
        survival_report(goals="LI+EEI+DEI"),
        survival_report(rule="tight", seed=0),
    ]
    table = survival(reports)
    assert table.header[0][:5] == ["bound", "goals", "norms", "steps", "all live"]
    assert table.header[0][5] == "no warning"
    assert table.header[0][6:10] == [*(f"{x} starves / runs away" for x in ("digit", "colour", "text")), "rate"]
    assert table.header[0][10:13] == ["cross", "D|D", "C|D"]
    tight, plain, li, goals = cells(table)
    assert [row[:3] for row in (tight, plain, li, goals)] == [
        ["tight", "none", ""], ["balanced 0.6", "none", ""], ["balanced 0.6", "LI", "as settled"],
        ["balanced 0.6", "all", "restored"],
    ]  # fmt: skip
    assert plain[4:10] == ["1 of 4 (5 to 70 %)", "3 of 4", "0 / 0", "0 / 2", "2 / 0", "17, 10,010, 15"]
    assert tight[4] == "1 of 1 (21 to 100 %)"
    assert tight[10:13] == ["50", "90", "50"]
    assert table.notes[-1] == "On an abacus."


def test_thresholds_are_those_that_fit_warns_by():
    experts = ["digit", "colour", "text"]
    for share, rate in ((HUNGRY, (17.0, 20.0, 15.0)), ((0.3, 0.6, 0.1), AWAY)):
        health = Health(experts)
        readings = {f"share/{e}": x for e, x in zip(experts, share, strict=True)}
        readings |= {f"rate/{e}": x for e, x in zip(experts, rate, strict=True)}
        assert len([*health.look(100, readings), *health.look(200, readings)]) == 1
    assert [starves(share, 3) for share in (0.0166, 0.0167)] == [True, False]
    assert [runs_away(rate, [15.0, 20.0]) for rate in (999.0, 1000.0)] == [False, True]
    assert not runs_away(2000.0, [300.0, 20_000.0])  # all are large: that is the model's scale


def test_a_training_that_is_there_twice_counts_once(tmp_path):
    reports = [survival_report(seed=seed) for seed in range(3)]
    whole = collected(reports)
    assert [run["seed"] for run in whole["runs"]] == [0, 1, 2]
    assert [run["warned"] for run in whole["runs"]] == [0, 0, 0]
    assert cells(survival([*reports, whole])) == cells(survival(reports)) == cells(survival([whole]))
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    exhibit = EXHIBITS["survival"]
    assert cells(exhibit.table(exhibit.reports([tmp_path]))) == cells(survival(reports))


def test_of_several_data_sets_one_is_shown():
    notes = []
    places = [PAPER / f"{name}.json" for name in ("mnist_svhn_text", "digits_in_three")]
    reports = EXHIBITS["survival"].reports(places, notes.append)
    assert {report["data"]["name"] for report in reports} == {"mnist_svhn_text"}
    assert notes == ["Reports of mnist_svhn_text are shown, those of digits_in_three are not. --from chooses."]


def test_without_reports_the_command_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="evenhand reproduce survival"):
        EXHIBITS["survival"].reports([tmp_path])


def test_what_the_page_says_of_mnist_svhn_text_is_in_its_report():
    rows = cells(survival(EXHIBITS["survival"].reports([PAPER / "mnist_svhn_text.json"])))
    tight = [row for row in rows if row[:2] == ["tight", "softmax"]]
    assert [row[5].split(" (")[0] for row in tight] == ["0 of 9", "0 of 8", "0 of 9", "0 of 8"]
    ours = [row[5].split(" (")[0] for row in rows if row[:2] == ["balanced 0.6", "softplus"]]
    assert ours == ["10 of 10", "4 of 4", "5 of 5", "4 of 4"]
