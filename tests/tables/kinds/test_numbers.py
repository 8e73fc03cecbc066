"""Real and positive columns: what their normal densities have in common."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from evenhand.tables.kinds import Preprocessing
from evenhand.tables.kinds._gaussian import Gaussian, natural
from evenhand.tables.schema import Column

from .._inputs import log_density, one_column
from ._columns import MOMENTS, POSITIVE, REAL, eta_of, one, squared_norms


@pytest.mark.parametrize(("mean", "variance"), MOMENTS[:3])
@pytest.mark.parametrize(
    ("column", "positive"), [(REAL, "log"), (POSITIVE, "log"), (POSITIVE, "centred"), (POSITIVE, "log1p")]
)
def test_densities_integrate_to_one(mean, variance, column, positive):
    heads, fitted = one_column(*column, positive)
    u = np.linspace(mean - 12 * math.sqrt(variance), mean + 12 * math.sqrt(variance), 20_001)
    x = fitted.centre.item() + fitted.scale.item() * u
    if column is POSITIVE:
        x = np.exp(x) - fitted.offset.item()
    density = log_density(heads, fitted, eta_of(mean, variance), x).exp().numpy()
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-5)


def test_a_mean_far_from_zero_does_not_cancel():
    # 10 deviations of a column whose mean is 10 000 of them from zero, in single precision
    mean, variance = torch.tensor([1e4]), torch.tensor([1.0])
    log_p, slope = Gaussian(1).log_prob(natural(mean, variance), torch.tensor([1e4 + 3]))
    assert log_p.item() == pytest.approx(-4.5 - 0.5 * math.log(2 * math.pi))
    log_p, _ = Gaussian(1).log_prob(natural(mean, variance).float(), torch.tensor([1e4 + 3]).float())
    assert log_p.item() == pytest.approx(-4.5 - 0.5 * math.log(2 * math.pi), rel=1e-3)
    assert slope.tolist() == pytest.approx([3.0, 3 * (2e4 + 3) - 1])


@pytest.mark.parametrize("column", [REAL, POSITIVE])
@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (1.0, 0.5), (-2.0, 1.5)])
def test_squared_gradients_of_the_normal(column, mean, deviation):
    # The paper has s^2 + 4 m^2 s^2. It forgets the fourth moment: Var(x^2) = 2 s^4 + 4 m^2 s^2.
    heads, _ = one_column(*column)
    u = mean + deviation * torch.randn(400_000)
    found = squared_norms(heads, eta_of(mean, deviation**2), u)
    error = (found.std() / len(found) ** 0.5).item()
    paper = deviation**2 + 4 * mean**2 * deviation**2
    assert found.mean().item() == pytest.approx(paper + 2 * deviation**4, abs=5 * error)
    assert abs(found.mean().item() - paper) > 10 * error


@pytest.mark.parametrize(("mean", "variance"), MOMENTS[:3])
@pytest.mark.parametrize(
    ("column", "positive"), [(REAL, "log"), (POSITIVE, "log"), (POSITIVE, "centred"), (POSITIVE, "log1p")]
)
def test_the_mode_has_the_highest_density_and_the_mean_is_the_integral(mean, variance, column, positive):
    heads, fitted = one_column(*column, positive)
    eta = eta_of(mean, variance)
    u = np.linspace(mean - 14 * math.sqrt(variance), mean + 14 * math.sqrt(variance), 40_001)
    x = fitted.centre.item() + fitted.scale.item() * u
    if column is POSITIVE:
        x = np.exp(x) - fitted.offset.item()
    density = log_density(heads, fitted, eta, x).exp().numpy()
    step = np.abs(np.diff(x))[density[:-1].argmax()]
    assert heads.point(eta.unsqueeze(0)).item() == pytest.approx(x[density.argmax()], abs=2 * step)
    integral = np.trapezoid(x * density, x)
    assert heads.point(eta.unsqueeze(0), "mean").item() == pytest.approx(integral, rel=1e-5)
    assert heads.expectation(eta.unsqueeze(0)).item() == pytest.approx(integral, rel=1e-5)


def test_normal_draws_have_the_spread_they_should():
    heads, fitted = one_column(*REAL)
    x = heads.sample(eta_of(1.0, 0.25).expand(1, 40_000, -1)).flatten().numpy()
    law = scipy.stats.norm(REAL[1].mean() + REAL[1].std(), 0.5 * REAL[1].std())
    assert scipy.stats.kstest(x, law.cdf).pvalue > 1e-3
    heads, fitted = one_column(*POSITIVE)
    x = heads.sample(eta_of(1.0, 0.25).expand(1, 40_000, -1)).flatten().numpy()
    scale = fitted.scale.item()
    assert scipy.stats.kstest(x, scipy.stats.lognorm(0.5 * scale, scale=math.exp(scale)).cdf).pvalue > 1e-3


@pytest.mark.parametrize("kind", ["real", "positive"])
def test_constant_columns_are_not_divided_by_zero(kind):
    raw, schema = one(Column("x", kind), 0.1, 0.1, 0.1)
    fitted = Preprocessing.fit(raw, schema)
    assert fitted.scale.tolist() == [1]
    assert fitted.decode(fitted.encode(raw).values) == pytest.approx(raw.values)
