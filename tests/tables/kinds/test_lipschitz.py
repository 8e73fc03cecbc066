"""Lipschitz standardization: numbers are brought to the smoothness of what has no units."""

import numpy as np
import pytest
import torch

from evenhand.tables.frames import RawTable
from evenhand.tables.kinds import Preprocessing, TableLikelihood, lipschitz
from evenhand.tables.schema import Column, Schema

from .._inputs import SCHEMA, table


def smoothness(fitted, raw):
    """The trace of the Hessian of every column's mean loss, at the natural parameters that fit it alone."""
    heads = TableLikelihood(fitted.schema, [fitted])
    batch = fitted.encode(raw)
    targets = heads.targets(batch.values.double())
    found = torch.zeros(heads.n, dtype=torch.float64)
    for d in range(heads.n):
        eta = fit_alone(heads, targets, d)

        def loss(eta, d=d):
            return -heads.log_prob(eta.expand(len(targets), -1), targets, natural=True)[:, d].mean()

        found[d] = second_derivatives(loss, eta)[heads.heads == d].sum()
    return found[heads.inverse]


def fit_alone(heads, targets, d):
    """Natural parameters of the marginal: moments of numbers, mean counts, frequencies."""
    parts = []
    for density, x in heads._by_target(targets):
        if type(density).__name__ == "Gaussian":
            mean, variance = x.mean(0), x.var(0, correction=0)
            parts.append(torch.cat([mean / variance, -0.5 / variance]))
        elif type(density).__name__ == "Poisson":
            parts.append(x.mean(0).log())
        elif type(density).__name__ == "Bernoulli":
            parts.append(torch.logit(x.mean(0)))
        else:
            parts.append(x.mean(0).log())
    return torch.cat(parts)


def second_derivatives(loss, eta, h=1e-4):
    """By differences of values: slopes are written by hand, and have no derivative."""
    found = torch.zeros_like(eta)
    for i in range(len(eta)):
        step = torch.zeros_like(eta)
        step[i] = h * max(1.0, abs(float(eta[i])))
        found[i] = (loss(eta + step) - 2 * loss(eta) + loss(eta - step)) / step[i] ** 2
    return found


@pytest.fixture
def raw():
    return table(400, missing=0.0)


@pytest.mark.parametrize("positive", ["log", "centred"])
def test_numbers_have_the_smoothness_of_the_others(raw, positive):
    fitted = Preprocessing.fit(raw, SCHEMA, positive=positive)
    changed = lipschitz(fitted, raw)
    before, after = smoothness(fitted, raw), smoothness(changed, raw)
    numbers = [d for d, c in enumerate(SCHEMA) if c.kind in ("real", "positive")]
    others = [d for d in range(len(SCHEMA)) if d not in numbers]
    torch.testing.assert_close(after[others], before[others])  # they have no units
    target = after[others].log().mean().exp()
    torch.testing.assert_close(after[numbers], target.expand(len(numbers)), rtol=2e-3, atol=0.0)
    assert before[numbers].max() / before[numbers].min() > (1.5 if positive == "log" else 0.9)
    assert not torch.allclose(before[numbers], target.expand(len(numbers)), rtol=0.05)


def test_standardised_numbers_alone_stay_as_they_are():
    values = np.random.default_rng(0).normal(3.0, [2.0, 5.0], size=(500, 2))
    raw = RawTable(values, np.ones(values.shape, bool))
    fitted = Preprocessing.fit(raw, Schema((Column("a", "real"), Column("b", "real"))))
    torch.testing.assert_close(lipschitz(fitted, raw).scale, fitted.scale, rtol=1e-6, atol=0.0)


def test_densities_in_original_units_know_the_scale(raw):
    """The same distribution in other units has the same density."""
    fitted = Preprocessing.fit(raw, SCHEMA)
    changed = lipschitz(fitted, raw)
    values = [p.decode(p.encode(raw).values) for p in (fitted, changed)]
    np.testing.assert_allclose(*values, rtol=1e-4)
    found = []
    for p in (fitted, changed):
        heads, batch = TableLikelihood(SCHEMA, [p]), p.encode(raw)
        targets = heads.targets(batch.values.double())
        eta = torch.cat([fit_alone(heads, targets, 0)])
        log_p = heads.log_prob(eta.expand(len(targets), -1), targets, natural=True)
        found.append(log_p + heads.base(batch.values.double(), p))
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-3)


def test_columns_without_cells_and_constant_ones():
    values = np.array([[1.0, 2.0, 0.0]] * 30)
    observed = np.ones(values.shape, bool)
    observed[:, 1] = False
    schema = Schema((Column("same", "real"), Column("empty", "positive"), Column("flag", "binary", (0, 1))))
    changed = lipschitz(Preprocessing.fit(RawTable(values, observed), schema), RawTable(values, observed))
    assert torch.isfinite(changed.scale).all()
    assert (changed.scale > 0).all()
