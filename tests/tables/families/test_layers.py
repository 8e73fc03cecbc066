"""Stacked layers are torch's layers, one per replica."""

import math

import pytest
import torch
from torch import nn

from evenhand.tables.families import GAINS, StackedBatchNorm, StackedLinear
from evenhand.tables.families._layers import _Product


def generators(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


@pytest.mark.parametrize("bias", [0.01, None])
def test_a_stacked_layer_is_a_linear_layer_per_replica(bias):
    layer, x = StackedLinear(4, 3, generators(0, 1), bias=bias), torch.randn(2, 5, 4)
    found = layer(x)
    for r in range(2):
        plain = nn.functional.linear(x[r], layer.weight[r], None if bias is None else layer.bias[r])
        torch.testing.assert_close(found[r], plain)
    assert (layer.bias is None) == (bias is None)
    assert repr(layer) == "StackedLinear(4, 3, replicas=2)"


def test_weights_belong_to_the_seed():
    many = StackedLinear(4, 3, generators(5, 6, 5)).weight
    assert (many[0] == many[2]).all()
    assert (many[0] != many[1]).all()
    assert (many[1] == StackedLinear(4, 3, generators(6)).weight[0]).all()


@pytest.mark.parametrize("activation", GAINS)
def test_xaviers_rule(activation):
    assert GAINS[activation] == pytest.approx(nn.init.calculate_gain(activation))
    weight = StackedLinear(40, 60, generators(0), gain=GAINS[activation]).weight[0]
    bound = GAINS[activation] * math.sqrt(6 / (40 + 60))
    assert 0.99 * bound < weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    assert abs(weight.mean().item()) < 5 * bound / math.sqrt(3 * 2400)


def test_heads_side_by_side_start_like_separate_layers():
    fans = [1] * 1 + [30] * 30 + [200] * 200
    weight = StackedLinear(20, 231, generators(0), fan_out=fans).weight[0]
    for fan, rows in ((1, slice(0, 1)), (30, slice(1, 31)), (200, slice(31, 231))):
        bound = math.sqrt(6 / (20 + fan))
        assert 0.8 * bound < weight[rows].abs().max() <= bound


def test_normal_weights():
    weight = StackedLinear(100, 100, generators(0), std=0.05).weight
    assert weight.std().item() == pytest.approx(0.05, rel=0.03)
    assert weight.abs().max() > 0.15  # beyond what a uniform rule of this deviation gives


def test_batch_normalisation_is_torchs():
    n, replicas = 4, 3
    stacked = StackedBatchNorm(n, replicas)
    plain = [nn.BatchNorm1d(n) for _ in range(replicas)]
    with torch.no_grad():
        stacked.weight.copy_(torch.rand(replicas, 1, n))
        stacked.bias.copy_(torch.randn(replicas, 1, n))
        for r, layer in enumerate(plain):
            layer.weight.copy_(stacked.weight[r, 0])
            layer.bias.copy_(stacked.bias[r, 0])
    for mode in (True, True, True, False):
        stacked.train(mode)
        x = 3 + 2 * torch.randn(replicas, 7, n, requires_grad=True)
        leaf = x.detach().clone().requires_grad_()
        cotangent = torch.randn(replicas, 7, n)
        found = stacked(leaf)
        (found * cotangent).sum().backward()
        for r, layer in enumerate(plain):
            own = x[r].detach().clone().requires_grad_()
            expected = layer.train(mode)(own)
            (expected * cotangent[r]).sum().backward()
            torch.testing.assert_close(found[r], expected)
            torch.testing.assert_close(leaf.grad[r], own.grad)
            torch.testing.assert_close(stacked.mean[r, 0], layer.running_mean)
            torch.testing.assert_close(stacked.variance[r, 0], layer.running_var)


def test_batch_normalisation_of_one_row():
    assert StackedBatchNorm(4, 2)(torch.randn(2, 1, 4)).isfinite().all()


@pytest.mark.parametrize("rows", [5, 256, 2048])  # in one part, in two, in sixteen
def test_products_of_a_gpu_have_the_gradients_of_autograd(rows):
    """What layers compute with on a GPU, here on the CPU: the gradient of W adds up many rows in parts."""
    x, weight = torch.randn(2, rows, 4, requires_grad=True), torch.randn(2, 3, 4, requires_grad=True)
    slopes = torch.randn(2, rows, 3)
    found, expected = _Product.apply(x, weight), torch.bmm(x, weight.mT)
    assert torch.equal(found, expected)
    ours = torch.autograd.grad(found, (x, weight), slopes)
    for one, other in zip(ours, torch.autograd.grad(expected, (x, weight), slopes), strict=True):
        torch.testing.assert_close(one, other)
    assert ours[1].is_contiguous()  # as the weight: nothing has to be copied
