"""Real columns."""

import math

import pytest
import scipy.stats

from .._inputs import log_density, one_column
from ._columns import MOMENTS, REAL, eta_of


@pytest.mark.parametrize(("mean", "variance"), MOMENTS)
def test_real_is_scipys_normal(mean, variance):
    heads, fitted = one_column(*REAL)
    centre, scale = REAL[1].mean(), REAL[1].std()
    expected = scipy.stats.norm(centre + scale * mean, scale * math.sqrt(variance)).logpdf(REAL[1])
    assert log_density(heads, fitted, eta_of(mean, variance), REAL[1]).numpy() == pytest.approx(expected, rel=1e-9)
