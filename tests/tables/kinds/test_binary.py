"""Binary columns."""

import numpy as np
import pytest
import scipy.stats
import torch
from scipy.special import expit

from .._inputs import log_density, one_column
from ._columns import BINARY


@pytest.mark.parametrize("logit", [-30.0, -1.5, 0.0, 0.3, 12.0])
def test_binary_is_scipys_bernoulli(logit):
    heads, fitted = one_column(*BINARY)
    found = log_density(heads, fitted, torch.tensor([logit]), [0, 1]).numpy()
    # scipy's log of 1 - p loses digits where p is nearly 1
    expected = [scipy.stats.bernoulli(expit(-logit)).logpmf(1), scipy.stats.bernoulli(expit(logit)).logpmf(1)]
    assert found == pytest.approx(np.array(expected), rel=1e-9)
