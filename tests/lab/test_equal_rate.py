"""Runs that hold a rate: their configs, what they report, and the plan of all of them."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from evenhand.common import ArgumentError
from evenhand.lab import EXHIBITS, TableReport, run, to_toml
from evenhand.lab._config import from_dict, to_dict, weights_by_kind
from evenhand.lab._paper_equal_rate import CONTESTS, HOMOGENEOUS
from evenhand.lab._splits import Splits, load
from evenhand.lab._tabular import choices
from evenhand.lab._weights_of_columns import by_gradient, weights_of_columns
from evenhand.tables.inference import head_gradients
from evenhand.tables.schema import Schema

from ._lab import as_in_a_worker, contents, killed, start_process, tiny, write_csv  # noqa: F401

REPORTS = Path(__file__).parents[2] / "paper" / "table1" / "reports"
HELD = ('runs.kl_weights=["rate:2"]', 'runs.column_weights=["nominal:4", "gradient"]', "training.epochs=90",
        "training.checks=40", "training.lr=0.005")  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("data") / "people.csv", rows=600)


def test_every_choice_is_held(table):
    found = choices(tiny(table, *HELD).runs)
    assert [(c.method, c.kl_weight, c.columns) for c in found] == [
        ("sum", "rate:2", ""), ("imtlg", "rate:2", ""), ("sum", "rate:2", "nominal:4"), ("sum", "rate:2", "gradient"),
    ]  # fmt: skip
    both = choices(tiny(table, 'runs.kl_weights=[1.0, 0.3, "rate:2"]').runs)
    assert [(c.method, c.kl_weight) for c in both] == [
        ("sum", 1.0), ("sum", 0.3), ("imtlg", 1.0), ("sum", "rate:2"), ("imtlg", "rate:2"),
    ]  # fmt: skip


def test_a_run_reports_the_rate_that_it_held(table, tmp_path):
    report = run(tiny(table, *HELD), tmp_path, device="cpu").report()
    read = TableReport(report)
    for held in report["runs"]:
        assert held["validation_rate"] == pytest.approx([2.0, 2.0], rel=0.0301)
        assert held["rate"] == pytest.approx([2.0, 2.0], rel=0.15)  # of 120 test rows
        assert len(held["held"]["steps"]) == 40
        assert all(0 < weight < 10 for weight in held["weight"])
    assert len({tuple(held["weight"]) for held in report["runs"]}) == 4
    assert read.plain["kl_weight"] == "rate:2"


def test_a_rate_that_was_missed_is_said(table, tmp_path):
    config = tiny(table, 'runs.kl_weights=["rate:90"]')
    with pytest.warns(UserWarning, match=r"The rate of imtlg with seed 1 should be 90 nats per row\. Found"):
        report = run(config, tmp_path, device="cpu").report()
    assert len(report["missed_rates"]) == 4


@pytest.mark.filterwarnings("ignore:The rate")
def test_a_run_that_was_killed_ends_with_the_same_numbers(table, tmp_path):
    config = tiny(table, *HELD, "training.epochs=44", "training.checks=11", "runs.seeds=[0]")
    process = start_process(config, tmp_path, "saving")
    killed(process)
    resumed = run(config, tmp_path, device="cpu", save_seconds=0.0).path
    straight = run(config, tmp_path / "other", device="cpu").path
    assert contents(resumed)[0]["runs"] == contents(straight)[0]["runs"]


def test_weights_by_kind():
    schema = Schema.from_toml(tiny_schema())
    assert weights_by_kind("nominal:4", schema) == (1.0, 1.0, 1.0, 4.0, 4.0)
    assert weights_by_kind("count:0.5", schema) == (1.0, 1.0, 0.5, 1.0, 1.0)


def tiny_schema():
    kinds = ("real", "positive", "count", "binary", "categorical")
    columns = [f'[columns.c{i}]\nkind = "{kind}"' for i, kind in enumerate(kinds)]
    columns[3] += "\ncategories = [0, 1]"
    columns[4] += '\ncategories = ["a", "b", "c"]'
    return "\n".join(columns)


def test_weights_by_gradient_make_them_equal(table):
    config = tiny(table)
    splits = Splits(load(config.data), config, "cpu")
    network, train = splits.network([0, 1]), splits.index(0, [0, 1])
    before = {name: x.clone() for name, x in network.state_dict().items()}
    weights = by_gradient(network, splits.rows, train)
    assert weights.shape == (2, 5)
    assert all(torch.equal(x, before[name]) for name, x in network.state_dict().items())
    lengths = head_gradients(network, splits.rows, train).norms
    product = weights * lengths  # the network of the measurement has seen batches, this one has not: about equal
    assert product.max() / product.min() < 0.5 * lengths.max() / lengths.min()
    assert set(weights_of_columns("gradient", splits)) == {0, 1}
    assert weights_of_columns("", splits) == {0: (), 1: ()}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ('runs.kl_weights=["rate:0"]', "runs.kl_weights should be a number >= 0, or a rate"),
        ('runs.kl_weights=[0.3, "rate:2"]', "have 1 among them, or only rates"),
        ("runs.kl_weights=[]", "have 1 among them, or only rates"),
        ("runs.kl_weights=[true]", "of type float or str"),
        ('runs.column_weights=["nominal"]', "runs.column_weights should be 'gradient', or a kind"),
        ('runs.column_weights=["colour:2"]', "runs.column_weights should be 'gradient', or a kind"),
        ('runs.column_weights=["gradient", "gradient"]', "should be different"),
        ('data.preprocessing="whitening"', "data.preprocessing should be one of '', 'lipschitz'"),
    ],
)
def test_configs_that_are_refused(table, override, message):
    with pytest.raises(ValueError, match=message):
        tiny(table, override)


def test_lipschitz_is_for_natural_parameters(table):
    with pytest.raises(ArgumentError, match="data.preprocessing should be empty but for"):
        tiny(table, 'data.preprocessing="lipschitz"', 'model.parameters="moments"')
    plain, smooth = (
        Splits(load(c.data), c, "cpu") for c in (tiny(table), tiny(table, 'data.preprocessing="lipschitz"'))
    )
    assert not torch.equal(plain.rows.record, smooth.rows.record)


def test_configs_without_these_are_as_before(table):
    document = to_dict(tiny(table))
    assert "column_weights" not in document["runs"]
    assert "preprocessing" not in document["data"]
    held = tiny(table, *HELD, 'data.preprocessing="lipschitz"')
    assert from_dict(to_dict(held)) == held
    assert 'kl_weights = ["rate:2"]' in to_toml(held)


# ---------------------------------------------------------------- the plan


def test_all_twelve_tables_have_two_stacks():
    jobs = EXHIBITS["equal-rate"].jobs()
    assert len(jobs) == 24
    assert {job.data.name for job in jobs} == set(CONTESTS)
    plain, smooth = jobs[0], jobs[1]
    assert (plain.name, smooth.name) == ("adult-equal-rate-vae-elbo", "adult-equal-rate-lipschitz-vae-elbo")
    assert (plain.data.preprocessing, smooth.data.preprocessing) == ("", "lipschitz")
    assert len(choices(plain.runs)) == 9
    assert len(choices(smooth.runs)) == 2
    assert smooth.runs.methods == ("sum", plain.runs.methods[1])
    homogeneous = [job for job in jobs if job.data.name in HOMOGENEOUS and not job.data.preprocessing]
    assert all(job.runs.column_weights == ("gradient",) for job in homogeneous)


def test_quick_leaves_the_largest_out():
    jobs = EXHIBITS["equal-rate"].jobs(quick=True)
    assert len(jobs) == 18
    assert not {"diamonds", "bank", "elnino"} & {job.data.name for job in jobs}
    assert all(len(job.runs.seeds) == 2 for job in jobs)
    with pytest.raises(ArgumentError, match="controls should be left out"):
        EXHIBITS["equal-rate"].jobs(controls=False)


@pytest.mark.parametrize("name", CONTESTS)
def test_rates_and_methods_are_those_of_table_1(name):
    report = TableReport(json.loads((REPORTS / f"{name}-vae-elbo.json").read_text()))
    ranked = sorted(report.impartial(), key=report.rank)
    rate, methods = CONTESTS[name]
    assert tuple(run["method"] for run in ranked[:3]) == methods
    assert rate == pytest.approx(float(np.median(report.values(ranked[0], "rate"))), abs=0.06)
