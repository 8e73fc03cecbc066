"""Importance weights against their definitions."""

import math

import pytest
import torch

from evenhand.tables.inference._density import effective_sample_size, importance_weighted


def test_definitions():
    log_weights = torch.randn(3, 5, 7)
    weights = log_weights.exp()
    torch.testing.assert_close(importance_weighted(log_weights), weights.mean(1).log())
    expected = weights.sum(1) ** 2 / (weights**2).sum(1)
    torch.testing.assert_close(effective_sample_size(log_weights), expected)


def test_weights_that_overflow():
    log_weights = torch.tensor([[1000.0, -1000.0], [1000.0, -1000.0]])
    assert importance_weighted(log_weights).tolist() == [1000.0, -1000.0]
    assert effective_sample_size(log_weights).tolist() == pytest.approx([2.0, 2.0])


def test_one_draw_is_the_weight_itself():
    log_weights = torch.randn(1, 4)
    torch.testing.assert_close(importance_weighted(log_weights), log_weights[0])
    torch.testing.assert_close(effective_sample_size(log_weights), torch.ones(4))


def test_impossible_draws():
    log_weights = torch.tensor([[-math.inf, 0.0], [-math.inf, -math.inf]])
    assert importance_weighted(log_weights).tolist() == pytest.approx([-math.inf, -math.log(2)])
    assert effective_sample_size(log_weights).tolist() == [0.0, 1.0]


def test_no_rows():
    assert importance_weighted(torch.zeros(5, 0)).shape == (0,)


@pytest.mark.parametrize("function", [importance_weighted, effective_sample_size])
@pytest.mark.parametrize("shape", [(4,), (0, 4)])
def test_wrong_shapes_are_named(function, shape):
    with pytest.raises(ValueError, match=r"log_weights should have the shape \[..., K, N\]"):
        function(torch.zeros(shape))
