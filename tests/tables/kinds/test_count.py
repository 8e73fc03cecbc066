"""Count columns."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from evenhand.tables.kinds import Preprocessing
from evenhand.tables.kinds._count import Poisson
from evenhand.tables.schema import Column

from .._inputs import log_density, one_column
from ._columns import FROM_ONE, FROM_ZERO, one, squared_norms


@pytest.mark.parametrize("rate", [1e-3, 0.5, 3.0, 200.0])
@pytest.mark.parametrize(("column", "shift"), [(FROM_ZERO, 0), (FROM_ONE, 1)])
def test_count_is_scipys_poisson(rate, column, shift):
    heads, fitted = one_column(*column)
    x = shift + np.array([0, 1, 2, 17, 400])
    found = log_density(heads, fitted, torch.tensor([math.log(rate)]), x)
    assert found.numpy() == pytest.approx(scipy.stats.poisson(rate, loc=shift).logpmf(x), rel=1e-10)


def test_a_wild_log_rate_is_led_back():
    group = Poisson(1)
    for eta, x in ((100.0, 3.0), (100.0, 0.0), (-100.0, 3.0)):
        log_p, slope = group.log_prob(torch.tensor([eta]), torch.tensor([x]))
        assert log_p.isfinite().all()
        assert slope.item() * eta < 0
    assert group.expectation(torch.tensor([1e3])).isfinite().all()


@pytest.mark.parametrize("rate", [0.2, 3.0, 50.0])
def test_squared_gradients_of_the_poisson(rate):
    heads, _ = one_column(*FROM_ZERO)
    counts = torch.arange(400.0)
    exact = torch.from_numpy(scipy.stats.poisson(rate).pmf(counts.numpy()))
    eta = torch.tensor([math.log(rate)])
    assert (exact * squared_norms(heads, eta, counts)).sum().item() == pytest.approx(rate)
    drawn = squared_norms(heads, eta, torch.poisson(torch.full((200_000,), rate)))
    error = (drawn.std() / len(drawn) ** 0.5).item()
    assert drawn.mean().item() == pytest.approx(rate, abs=5 * error)


def test_counts_below_those_of_training_are_told():
    column = Column("n", "count")
    fitted = Preprocessing.fit(*one(column, 1, 2, 5))
    with pytest.warns(UserWarning, match="column 'n' has 2 counts of 0, and none in training: they are taken for 1"):
        batch = fitted.encode(one(column, 0, 0, 4)[0])
    assert batch.values[:, 0].tolist() == [0, 0, 3]
