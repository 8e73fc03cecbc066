"""Figures of rates that are held, and of what weighted sums reach."""
# ruff: noqa: RUF001  # signs as readers know them: ×

import re

import pytest

from evenhand.lab.figures import frontiers, rate_control, rate_controls

from .._reports import held_report, table_report


def test_rates_and_weights_over_training():
    svg = rate_controls([held_report(data="wine")])["all"]
    assert svg.startswith("<svg")
    assert "Wine VAE-ELBO, 8 nats" in svg
    assert svg.count('class="line c') == 12  # rates and weights of six runs
    assert "plain, nominal × 8: 8.07 nats, KL x 0.3" in svg


def test_of_reports_without_rates_there_is_none():
    with pytest.raises(ValueError, match="runs that hold a rate"):
        rate_controls([table_report()])


def test_a_history_of_an_estimator():
    rows = [{"step": s, "candidates": [0, 2], "rates": [9 - s, 8.1], "kl_weights": [0.1, 0.2 * s]} for s in (1, 2)]
    rows.append({"step": 3, "candidates": [2], "rates": [8.0], "kl_weights": [0.7]})
    svg = rate_control(rows, "rate:8", ["sum", "mgda", "imtlg"])
    assert "imtlg: 8.00 nats, KL x 0.7" in svg
    assert "sum: 7.00 nats" in svg
    assert "mgda" not in svg
    assert svg == rate_control(rows, 8.0, ["sum", "mgda", "imtlg"])


def test_a_history_of_modalities():
    svg = rate_control([{"step": 1, "rate": 3.0, "kl_weight": 1.0}, {"step": 2, "rate": 2.0, "kl_weight": 1.5}], 2.0)
    assert "candidate 1: 2.00 nats, KL x 1.5" in svg
    with pytest.raises(ValueError, match="history should be of a training that holds a rate"):
        rate_control([{"step": 1, "kl_weight": 1.0}], 2.0)


def test_the_target_is_a_band():
    """From 3 % below to 3 % above."""
    svg = rate_control([{"step": s, "rate": 8.0, "kl_weight": 1.0} for s in range(3)], 8.0)
    (band,) = re.findall(r'd="M([^"]+)Z" class="band real"', svg)
    (line, _) = re.findall(r'd="M([^"]+)" class="line c0"', svg)
    heights = {float(point.split()[1]) for point in band.split("L")}
    (rate,) = {float(point.split()[1]) for point in line.split("L")}
    assert min(heights) < rate < max(heights)
    assert rate == pytest.approx(sum(heights) / 2, abs=0.2)


def test_frontiers():
    reports = [
        held_report(data="wine"),
        held_report(data="wine", methods=("sum", "imtlg"), weights=(), lipschitz=True),
    ]
    svg = frontiers(reports)["all"]
    assert svg.count("point curve") == 4  # plain, two weights by kind, one by gradients
    assert svg.count("point other unrestored") == 2  # Lipschitz
    assert svg.count("point chosen") == 1
    assert "nominal × 8" in svg
    alone = held_report(data="wine", kinds=("real",))
    with pytest.raises(ValueError, match="numbers and categories"):
        frontiers([alone])
