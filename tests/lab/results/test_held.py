"""Tables of runs that hold a rate."""

import numpy as np
import pytest

from evenhand.lab import results as tables
from evenhand.lab.results import TableReport, contests

from .._reports import held_report, table_report


@pytest.fixture
def reports():
    return [
        held_report(data="wine", rate=10.4),
        held_report(data="wine", rate=10.4, methods=("sum", "imtlg"), weights=(), lipschitz=True, seed=1),
        held_report(data="adult", rate=10.3, seed=2),
    ]


def with_error(run, value):
    columns = np.full(np.shape(run["columns"]), value)
    run |= {"error": [value] * 3, "validation": [value] * 3, "columns": columns.tolist()}


def test_a_held_report_has_a_plain_run_and_methods():
    read = TableReport(held_report())
    assert read.reference == "rate:8"
    assert read.plain["method"] == "sum"
    assert not read.curve
    assert [run["method"] for run in read.impartial()] == ["imtlg", "pcgrad"]
    assert [run["column_weights"] for run in read.weighted()] == ["nominal:2", "nominal:8", "gradient"]
    labels = [read.label(run) for run in read.runs]
    assert labels == [
        "vanilla, 8 nats", "IMTL-G, 8 nats", "PCGrad, 8 nats", "vanilla, nominal x 2, 8 nats",
        "vanilla, nominal x 8, 8 nats", "vanilla, 1 / gradient, 8 nats",
    ]  # fmt: skip


def test_fixed_weights_come_first():
    """A report with both is compared at KL weight 1."""
    report = table_report()
    report["runs"] += held_report()["runs"]
    read = TableReport(report)
    assert read.reference == 1.0
    assert read.plain["kl_weight"] == 1.0
    assert all(run["kl_weight"] == 1.0 for run in read.impartial())


def test_reports_of_a_table_stand_together(reports):
    found = contests(reports)
    assert [contest.title for contest in found] == ["Adult VAE-ELBO", "Wine VAE-ELBO"]
    assert [entry.arm for entry in found[1].entries] == [
        "plain", "column weights", "Lipschitz", "Lipschitz, f", "f", "f",
    ]  # fmt: skip


def test_weights_of_columns_are_chosen_by_validation(reports):
    runs = reports[0]["runs"]
    for run, error in zip(runs, (0.5, 0.3, 0.6, 0.4, 0.2, 0.9), strict=True):
        with_error(run, error)
    runs[4]["error"] = [0.35] * 3  # on test rows
    contest = contests(reports[:2])[0]
    assert contest.best("column weights").run is runs[4]
    assert contest.best("f").run is runs[1]
    table = tables.equal_rate_errors(reports[:2])
    (row,) = table.rows
    assert [str(row[i]) for i in (1, 2, 3, 6, 7, 8, 9)] == [
        "10.4", "0.500", "0.350", "0.300", "f", "IMTL-G", "nominal x 8",
    ]  # fmt: skip
    runs[1]["error"] = [0.3499] * 3
    assert tables.equal_rate_errors(reports[:2]).rows[0][7] == "equal"
    runs[1]["error"] = [0.39] * 3
    assert tables.equal_rate_errors(reports[:2]).rows[0][7] == "weights"


def test_every_measure_stands_there(reports):
    plain = reports[0]["runs"][0]
    plain |= {"rate": [10.4, 10.6, 12.0], "log_likelihood": [-3.0] * 3, "hidden": [0.25] * 3}
    with_error(plain, 0.2)
    for row in plain["columns"]:
        row[2] = 0.7
    first = tables.equal_rate(reports[:2]).rows[0]
    assert [str(cell) for cell in first] == [
        "Wine VAE-ELBO, 10.4 nats", "vanilla", "10.6", "2/3", "0.200", "", "0.700", "visits", "-3.0", "0.250",
    ]  # fmt: skip


def test_a_run_that_failed_is_a_dash(reports):
    bad = reports[0]["runs"][1]
    nothing = [None] * 3
    bad |= {"error": nothing, "validation": nothing, "rate": nothing, "columns": [[None] * 6] * 3}
    rows = tables.equal_rate(reports[:2]).rows
    (line,) = [row for row in rows if row[1] == "IMTL-G"]
    assert [str(line[i]) for i in (2, 3, 4, 6, 7)] == ["-", "0/3", "-", "-", "-"]


def test_other_tables_pass_them_over(reports, tmp_path):
    """Held reports are no part of table 1, and ordinary ones none of these."""
    assert not contests([table_report()])


def test_seeds_are_paired_by_their_numbers(reports):
    """Three seeds of plain training, and Lipschitz standardization with one of them and two others."""

    def better():
        return {row[1]: row[5] for row in tables.equal_rate([plain, smooth]).rows}["vanilla, Lipschitz"]

    plain, smooth = reports[:2]
    plain["seeds"], smooth["seeds"] = [0, 1, 2], [5, 2, 6]
    plain["runs"][0]["error"], smooth["runs"][0]["error"] = [0.1, 0.1, 0.3], [0.5, 0.2, 0.5]
    assert better() == "1/1"
    smooth["seeds"] = [5, 6, 7]
    assert better() == ""


def test_a_plain_run_that_failed_does_not_hide_the_lowest_error(reports):
    nothing = [None] * 3
    reports[0]["runs"][0] |= {"error": nothing, "validation": nothing, "rate": nothing, "columns": [[None] * 6] * 3}
    for table, places in ((tables.equal_rate, [4]), (tables.equal_rate_errors, range(2, 7))):
        cells = [row[i] for row in table(reports[:2]).rows for i in places]
        assert any(getattr(cell, "bold", False) for cell in cells)
