"""`diagnose` and what it advises."""

import json

import pytest

from evenhand.cli._diagnose import conflicts
from evenhand.lab import TableReport

from ..lab._reports import table_report


def test_diagnose_says_where_gradients_conflict(table, go):
    result = go("diagnose", table, "--steps", 2)
    assert result.exit_code == 0, result.stderr
    assert "An even share would be 33.3%." in result.stdout
    assert "Not learnt" in result.stdout
    document = json.loads(go("diagnose", table, "--steps", 2, "--json").stdout)  # which is done already
    assert sum(c["share_last"] for c in document["columns"]) == pytest.approx(1, abs=1e-3)
    assert document["n_pairs"] == 3


def test_the_advice_follows_from_shares_and_cosines():
    report = table_report()
    n = len(report["data"]["columns"])
    eye = [[float(i == j) for j in range(n)] for i in range(n)]
    even, starved = [1 / n] * n, [0.5, 0.01, *[0.49 / (n - 2)] * (n - 2)]
    against = [row[:] for row in eye]
    against[0][1] = against[1][0] = -0.5

    def advice(shares, cosines):
        report["conflicts"] = {"steps": [1], "plain": {"shares": [shares], "cosines": cosines}}
        return conflicts(TableReport(report))

    assert advice(even, eye)["method"] == "sum"
    assert advice(even, against)["method"] == "pcgrad"
    assert advice(starved, eye)["method"] == "imtlg"
    both = advice(starved, against)
    assert both["method"] == "imtlg>>pcgrad"
    assert both["pairs"] == [{"cosine": -0.5, "columns": [*report["data"]["columns"][:2]]}]
