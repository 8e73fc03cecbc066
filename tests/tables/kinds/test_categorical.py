"""Categorical columns, and ordinal ones as the paper has them."""

import numpy as np
import pytest
import scipy.stats
import torch

from evenhand.tables.kinds._categorical import Categorical

from .._inputs import log_density, one_column
from ._columns import CATEGORICAL, ORDINAL, squared_norms


@pytest.mark.parametrize("column", [CATEGORICAL, ORDINAL])
@pytest.mark.parametrize("logits", [[0.0, 0, 0, 0], [1.0, -2, 0.5, 3], [40.0, 0, -40, 39]])
def test_categories_are_a_softmax(column, logits):
    heads, fitted = one_column(*column)
    found = log_density(heads, fitted, torch.tensor(logits), [0, 1, 2, 3]).numpy()
    weights = np.exp(np.array(logits) - max(logits))
    assert found == pytest.approx(np.log(weights / weights.sum()), rel=1e-9)


@pytest.mark.parametrize("logits", [[0.0, 0, 0, 0], [2.0, -1, 0.5, 0]])
def test_squared_gradients_of_the_categorical(logits):
    heads, _ = one_column(*CATEGORICAL)
    eta = torch.tensor(logits)
    pi = eta.softmax(-1)
    expected = (pi * (1 - pi)).sum().item()
    found = squared_norms(heads, eta, torch.arange(4.0))
    assert (pi * found).sum().item() == pytest.approx(expected)
    drawn = found[torch.multinomial(pi, 200_000, replacement=True)]
    error = (drawn.std() / len(drawn) ** 0.5).item()
    assert drawn.mean().item() == pytest.approx(expected, abs=5 * error + 1e-12)


def test_every_category_is_drawn_as_often_as_it_should():
    logits = torch.tensor([[0.0, 1.0, -6.0, 0.5, -1.0], [3.0, 0.0, 0.0, 0.0, -7.0]])
    codes = Categorical(2, 5).sample(logits.flatten().expand(100_000, -1))
    for i in range(2):
        found = torch.bincount(codes[:, i].long(), minlength=5)
        assert (found > 0).all()
        assert scipy.stats.chisquare(found.numpy(), 100_000 * logits[i].softmax(-1).numpy()).pvalue > 1e-3
