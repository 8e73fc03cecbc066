"""Cumulative logits of ordinal columns."""

import numpy as np
import pytest
import torch
from scipy.special import expit

from evenhand.tables.kinds._ordinal import ordinal_logits


@pytest.mark.parametrize("location", [-3.0, 0.0, 1.4])
@pytest.mark.parametrize("steps", [[0.3], [-1.0, 2.0], [0.0, 0.0, 0.0, 0.0], [1.0, -2.0, 0.5]])
def test_ordinal_logits_are_differences_of_sigmoids(location, steps):
    thresholds = np.cumsum(np.log1p(np.exp(steps)))
    below = [expit(t - location) for t in thresholds]
    expected = np.diff([0.0, *below, 1.0])
    found = ordinal_logits(torch.tensor([location]), torch.tensor(steps)).exp()
    assert found.numpy() == pytest.approx(expected, rel=1e-10)
    assert found.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("size", [0.0, 5.0, 100.0, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ordinal_logits_stay_finite_and_sum_to_one(size, dtype):
    location = (size * torch.randn(50, 1)).to(dtype).requires_grad_()
    steps = (size * torch.randn(50, 4)).to(dtype).requires_grad_()
    logits = ordinal_logits(location, steps)
    logits.sum().backward()
    assert logits.exp().sum(-1).tolist() == pytest.approx([1.0] * 50, rel=1e-5)
    for tensor in (logits, location.grad, steps.grad):
        assert tensor.isfinite().all()


def test_ordinal_logits_are_finite_differences():
    location, steps = torch.randn(4, 1, requires_grad=True), torch.randn(4, 3, requires_grad=True)
    assert torch.autograd.gradcheck(ordinal_logits, (location, steps))


def test_a_higher_location_means_higher_categories():
    locations = torch.linspace(-4, 8, 20).unsqueeze(-1)
    expected = (ordinal_logits(locations, torch.zeros(20, 4)).exp() * torch.arange(5)).sum(-1)
    assert (expected.diff() > 0).all()
