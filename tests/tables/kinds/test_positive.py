"""Positive columns: log-normal densities and the rules for zeros."""

import math

import numpy as np
import pytest
import scipy.stats

from evenhand.tables.frames import RawTable
from evenhand.tables.kinds import Preprocessing
from evenhand.tables.schema import Column, Schema

from .._inputs import log_density, one_column
from ._columns import MOMENTS, POSITIVE, certain, eta_of, one


@pytest.mark.parametrize(("mean", "variance"), MOMENTS)
@pytest.mark.parametrize("positive", ["log", "centred", "log1p"])
def test_positive_is_scipys_lognormal(mean, variance, positive):
    heads, fitted = one_column(*POSITIVE, positive)
    offset = float(positive == "log1p")
    logarithms = np.log(POSITIVE[1] + offset)
    centre, scale = (positive != "log") * logarithms.mean(), logarithms.std()
    law = scipy.stats.lognorm(scale * math.sqrt(variance), scale=math.exp(centre + scale * mean), loc=-offset)
    found = log_density(heads, fitted, eta_of(mean, variance), POSITIVE[1])
    assert found.numpy() == pytest.approx(law.logpdf(POSITIVE[1]), rel=1e-9)


def test_huge_means_stay_numbers():
    heads, _ = one_column(*POSITIVE)
    eta = eta_of(1e6, 1e3).unsqueeze(0)
    for found in (heads.point(eta), heads.point(eta, "mean"), heads.expectation(eta), heads.sample(eta)):
        assert found.isfinite().all()


def test_positive_columns_never_fall_below_zero():
    # log(1 + x) of a normal variable may be negative; decoding says 0 then, and so should guesses and draws
    heads, fitted = one_column(Column("x", "positive"), [0.0, 1, 7, 2], "log1p")
    eta = eta_of(-3.0, 0.3).expand(1, 50, -1)
    assert fitted.decode(np.array([[-3.0]])).item() == 0
    for found in (heads.point(eta), heads.point(eta, "mean"), heads.expectation(eta), heads.sample(eta)):
        assert (found == 0).all()


@pytest.mark.parametrize("offset", [1e-20, 1e-3, 0.5, 40.0])
def test_zeros_that_were_raised_come_back_as_zeros(offset):
    values = [0.0, 2 * offset, 5 * offset, 0.0, 3 * offset]
    heads, fitted = one_column(Column("x", "positive", zero_offset=offset), values)
    raw = RawTable(np.array(values)[:, None], np.ones((5, 1), dtype=bool))
    eta = certain(heads, fitted, raw, 1e14)
    for found in (
        heads.point(eta),
        heads.point(eta, "mean"),
        heads.decide(heads.expectation(eta)),
        heads.sample(eta),
    ):
        assert found[0, :, 0].tolist() == pytest.approx(values, rel=1e-4, abs=0)


@pytest.mark.parametrize("value", [0.0, -2.5])
def test_zeros_without_an_offset_are_refused(value):
    raw, schema = one(Column("pay", "positive"), 1.0, value, 3.0)
    with pytest.raises(
        ValueError, match=f"column 'pay' should hold positive numbers only. Found {value:g}; give it a zero_"
    ):
        Preprocessing.fit(raw, schema)
    fitted = Preprocessing.fit(raw.rows([0, 2]), schema)
    with pytest.raises(ValueError, match="column 'pay' should hold positive numbers only"):
        fitted.encode(raw)


def test_missing_cells_of_positive_columns_are_not_zeros():
    raw = RawTable(np.array([[1.0], [0.0], [3.0]]), np.array([[True], [False], [True]]))
    batch = Preprocessing.fit(raw, Schema((Column("pay", "positive"),))).encode(raw)
    assert batch.values[1].item() == 0


@pytest.mark.parametrize("offset", [1e-20, 1e-3, 0.5, 1.0, 40.0])
def test_a_number_as_offset_keeps_zeros(offset):
    raw, schema = one(Column("pay", "positive", zero_offset=offset), 0.0, offset / 2, 2 * offset, 5 * offset, 0.0)
    fitted = Preprocessing.fit(raw, schema)
    back = fitted.decode(fitted.encode(raw).values)[:, 0]
    assert back[[0, 1, 4]].tolist() == [0, 0, 0]
    assert back[[2, 3]] == pytest.approx([2 * offset, 5 * offset], rel=1e-5)
    logarithms = np.log(np.maximum(raw.values, offset))
    assert fitted.scale.item() == pytest.approx(logarithms.std())


def test_the_published_rule_draws_small_numbers():
    raw, schema = one(Column("pay", "positive", zero_offset="published"), *([0.0] * 2000), *([10.0] * 2000))
    fitted = Preprocessing.fit(raw, schema, seed=1)
    back = fitted.decode(fitted.encode(raw).values)[:, 0]
    assert back[2000:] == pytest.approx([10.0] * 2000, rel=1e-5)
    small = back[:2000]
    assert (small > 0).all()
    assert small.mean() == pytest.approx(0.2 / 60.2, rel=0.2)  # the mean of Beta(0.2, 60)
    assert len(np.unique(small)) > 1900  # drawn per cell
    again = Preprocessing.fit(raw, schema, seed=1)
    assert (again.encode(raw).values == fitted.encode(raw).values).all()
    other = Preprocessing.fit(raw, schema, seed=2)
    assert (other.encode(raw).values != fitted.encode(raw).values).any()


def test_log1p_centres_and_takes_zeros():
    raw, schema = one(Column("pay", "positive"), 0.0, 1.0, 7.0)
    fitted = Preprocessing.fit(raw, schema, positive="log1p")
    logarithms = np.log1p(raw.values)
    assert fitted.centre.item() == pytest.approx(logarithms.mean())
    assert fitted.scale.item() == pytest.approx(logarithms.std())
    assert fitted.decode(fitted.encode(raw).values) == pytest.approx(raw.values, rel=1e-5, abs=1e-6)
    assert fitted.decode(np.array([[-100.0]])).item() == 0  # never below zero
    with pytest.raises(ValueError, match="column 'pay' should hold no numbers below zero. Found -1"):
        fitted.encode(one(Column("pay", "positive"), -1.0)[0])
    with pytest.raises(ValueError, match="positive should be one of log, centred, log1p. Found 'sqrt'"):
        Preprocessing.fit(raw, schema, positive="sqrt")
