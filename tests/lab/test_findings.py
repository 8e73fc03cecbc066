"""What a run on a table found."""

import math

from evenhand.lab import Data, TableReport, compared, comparison, diagnosed, diagnosis

from ._reports import table_report


def test_what_is_not_known_at_the_same_rate_is_null():
    found = compared(TableReport(table_report(kl_weights=(1.0,))))
    assert math.isnan(found["plain"]["error_at_the_same_rate"])
    assert found["plain"]["beyond_the_curve"] is None
    assert "plain training would do at that rate is not known" in found["summary"][1]
    report = table_report()
    for rate, beyond in ((99.0, True), (3.0, False)):
        for run in report["runs"]:
            run["rate"] = [2.0 / run["kl_weight"] if run["method"] == "sum" else rate] * 3
        assert compared(TableReport(report))["plain"]["beyond_the_curve"] is beyond


def test_the_advice_follows_from_shares_and_cosines():
    report = table_report()
    n = len(report["data"]["columns"])
    eye = [[float(i == j) for j in range(n)] for i in range(n)]
    even, starved = [1 / n] * n, [0.5, 0.01, *[0.49 / (n - 2)] * (n - 2)]
    against = [row[:] for row in eye]
    against[0][1] = against[1][0] = -0.5

    def advice(shares, cosines):
        report["conflicts"] = {"steps": [1], "plain": {"shares": [shares], "cosines": cosines}}
        return diagnosed(TableReport(report))

    assert advice(even, eye)["method"] == "sum"
    assert advice(even, against)["method"] == "pcgrad"
    assert advice(starved, eye)["method"] == "imtlg"
    both = advice(starved, against)
    assert both["method"] == "imtlg>>pcgrad"
    assert both["pairs"] == [{"cosine": -0.5, "columns": [*report["data"]["columns"][:2]]}]


def test_a_diagnosis_is_a_short_plain_training():
    config = diagnosis(Data(path="people.csv"), 1000, steps=500)
    assert (config.runs.methods, config.runs.seeds, config.runs.kl_weights) == (("sum",), (0,), (1.0,))
    assert config.evaluation.generate == 0
    assert config.training == comparison(Data(path="people.csv"), 1000, steps=500).training
