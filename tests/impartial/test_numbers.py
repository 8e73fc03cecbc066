"""What is computed in Python for one problem on the CPU is what torch computes for many."""

import math

import pytest
import torch

from evenhand.impartial import IMTLG, MGDA, GradNorm, LinearBlock, PCGrad, Sum, _gradients, _pcgrad, _solvers
from evenhand.impartial._base_block import _is_neutral, neutral_in_this_thread
from evenhand.impartial._numbers import FEW, are_few, as_tensor

from ._asserts import assert_close
from ._inputs import generator
from .test_solvers import set_host_reads

ROWS = {
    "usual": torch.randn(5, 9, generator=generator()),
    "norms": torch.randn(5, 9, generator=generator()) * torch.logspace(-3, 3, 5).unsqueeze(-1),
    "a silent head": torch.randn(5, 9, generator=generator()) * torch.tensor([[1.0], [0], [2], [1], [1]]),
    "nothing": torch.zeros(3, 4),
    "one head": torch.randn(1, 4, generator=generator()),
    "more heads than features": torch.randn(6, 3, generator=generator()),
    "opposite": torch.tensor([[1.0, 2.0], [-1.0, -2.0]]),
}


def grams():
    return [pytest.param((rows @ rows.mT).double(), id=name) for name, rows in ROWS.items()]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("gram", grams())
def test_gradnorm_learns_the_same_for_one_and_for_many(gram, alpha):
    one, many = GradNorm(alpha, lr=0.02, reference_step=3), GradNorm(alpha, lr=0.02, reference_step=3)
    for step in range(12):
        now = gram * (
            1 + step * torch.linspace(0, 1, len(gram)).double().outer(torch.linspace(0, 1, len(gram)).double())
        )
        assert_close(one.weights(now), many.weights(now.unsqueeze(0))[0], 1e-10)
    assert_close(one.state, many.state.squeeze(1), 1e-10)
    assert one.steps == many.steps == 12


def test_gradnorm_of_one_stays_in_single_precision():
    method = GradNorm()
    assert method.weights(torch.eye(3, dtype=torch.float32)).dtype == method.state.dtype == torch.float32


@pytest.mark.parametrize("make", [IMTLG, MGDA])
@pytest.mark.parametrize("gram", grams())
def test_weights_of_one_and_of_many(gram, make):
    assert_close(make().weights(gram), make().weights(gram.unsqueeze(0))[0], 1e-9)


@pytest.mark.parametrize("gram", grams())
def test_pcgrad_of_one_and_of_many(gram):
    order = torch.rand(len(gram), generator=generator()).argsort()
    assert_close(_pcgrad.project(gram, order), _pcgrad.project(gram.unsqueeze(0), order.unsqueeze(0))[0], 1e-12)


@pytest.mark.parametrize("make", [IMTLG, MGDA, PCGrad, GradNorm])
@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_broken_gradient_is_not_hidden(make, broken):
    rows = torch.randn(4, 6)
    rows[1, 2] = broken
    block, y = LinearBlock(make(), range(4)), torch.randn(5, 6, requires_grad=True)
    block(y, rows).sum().backward()
    assert not y.grad.isfinite().all()


@pytest.mark.parametrize("gram", grams())
def test_correlations_of_one_of_many_and_without_host_reads(gram, monkeypatch):
    one, many = _solvers.correlation(gram), _solvers.correlation(gram.unsqueeze(0))
    set_host_reads(monkeypatch, False)
    unread = _solvers.correlation(gram)
    for a, b, c in zip(one[:4], many[:4], unread[:4], strict=True):
        assert_close(a, b[0], 1e-12)
        assert_close(a, c, 1e-12)


@pytest.mark.parametrize("gram", grams())
@pytest.mark.parametrize("wanted", [0.0, 3.0, 1e30, -1e-9, math.nan])
def test_the_length_of_one_and_of_many(gram, wanted):
    weights = torch.linspace(-0.5, 2, len(gram)).double()
    square = (weights * (gram @ weights)).sum()
    factor = _gradients.rescaling(torch.tensor(wanted), square, gram, weights, None)
    found = _gradients.stretched(weights, gram, wanted)
    torch.testing.assert_close(found, weights * factor, rtol=1e-9, atol=0, equal_nan=True)


def test_python_computes_with_few_numbers_only():
    assert are_few(torch.ones(FEW))
    assert not are_few(torch.ones(FEW + 1))
    assert not are_few(torch.ones(2, 3))
    assert not are_few(torch.ones(3).half())
    assert not are_few(torch.ones(3, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_numbers_become_a_tensor(dtype):
    assert torch.equal(as_tensor([1.0, 2.5], dtype), torch.tensor([1, 2.5], dtype=dtype))


@pytest.mark.parametrize("size", [3, 100])
def test_all_between(size):
    numbers = torch.linspace(1, 2, size)
    assert _solvers.all_between(numbers, 1, 2)
    assert not _solvers.all_between(numbers, 1.1, 2)
    assert not _solvers.all_between(numbers, 1, 1.9)
    numbers[1] = torch.nan
    assert not _solvers.all_between(numbers, 0, 3)
    assert _solvers.all_between(torch.ones(0, size), 2, 3)


def test_a_block_without_a_method_is_plain_backpropagation_even_where_heads_cancel():
    y, weight = torch.randn(5, 4, requires_grad=True), torch.randn(3, 4)
    weight[2] = -weight[:2].sum(0) * (1 + 1e-12)
    torch.nn.functional.linear(y, weight).sum().backward()
    plain, y.grad = y.grad, None
    block = LinearBlock(Sum(), [0, 1, 2])
    block(y, weight).sum().backward()
    assert torch.equal(y.grad, plain)
    assert torch.equal(block.last.weights, torch.ones(3))


def test_blocks_are_neutral_until_the_outermost_context_ends():
    with neutral_in_this_thread():
        with neutral_in_this_thread():
            assert _is_neutral()
        assert _is_neutral()
    assert not _is_neutral()
