"""The fused block gives the numbers of the general one."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from evenhand.impartial import IMTLG, MGDA, Block, GradDrop, GradNorm, LinearBlock, PCGrad, Sum

from ._asserts import assert_close
from ._inputs import METHODS, generator

HEADS = [0, 0, 1, 2, 2, 2, 1]  # columns of a head need not be neighbours
SCALES = torch.tensor([1, 1, 10, 0.1, 0.1, 0.1, 10]).double()


def gradients(fused, method, y, linear, observed=None, **options):
    """The gradients of y, weight and bias through the fused block or through general parts."""
    y = y.detach().requires_grad_()
    linear.zero_grad()
    if fused:
        eta = LinearBlock(method, HEADS, **options)(y, linear.weight, linear.bias, observed=observed)
    else:
        views = Block(method, **options)(y, 3, observed=observed)
        columns = [F.linear(views[h], linear.weight[i : i + 1], linear.bias[i : i + 1]) for i, h in enumerate(HEADS)]
        eta = torch.cat(columns, -1)
    loss = (eta - 1).square() * SCALES.to(eta.dtype)
    loss = loss if observed is None else loss * observed[..., HEADS]
    loss.sum().backward()
    return eta.detach(), y.grad, linear.weight.grad, linear.bias.grad


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("preserve_norm", [True, False])
@pytest.mark.parametrize("shape", [(16, 6), (3, 16, 6)])
def test_same_numbers_as_the_general_block(name, preserve_norm, shape):
    y, linear = torch.randn(shape), nn.Linear(6, 7)
    both = [gradients(f, METHODS[name](), y, linear, preserve_norm=preserve_norm) for f in (True, False)]
    for ours, theirs in zip(*both, strict=True):
        assert_close(ours, theirs, 1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_same_numbers_where_cells_are_missing(name):
    y, linear, observed = torch.randn(16, 6), nn.Linear(6, 7), torch.rand(16, 3) < 0.7
    both = [gradients(f, METHODS[name](), y, linear, observed) for f in (True, False)]
    for ours, theirs in zip(*both, strict=True):
        assert_close(ours, theirs, 1e-9)


def test_the_mask_changes_something():
    y, linear, observed = torch.randn(16, 6), nn.Linear(6, 7), torch.rand(16, 3) < 0.5

    def through(mask):
        leaf = y.detach().requires_grad_()
        eta = LinearBlock(MGDA(), HEADS)(leaf, linear.weight, linear.bias, observed=mask)
        ((eta - 1).square() * observed[..., HEADS]).sum().backward()
        return leaf.grad

    assert not torch.allclose(through(observed), through(None))


@pytest.mark.parametrize("name", ["mgda", "imtlg", "pcgrad", "graddrop", "gradnorm", "upgrad"])
def test_leading_axes_of_the_weight_are_replicas(name):
    y, weight, bias = torch.randn(4, 16, 6), torch.randn(4, 7, 6), torch.randn(4, 7)
    y.requires_grad_()
    method = METHODS[name]()
    block = LinearBlock(method, HEADS)
    (block(y, weight, bias).square() * SCALES).sum().backward()
    if name in ("pcgrad", "graddrop"):  # every replica draws random numbers of its own
        assert_close(y.grad.flatten(1).norm(dim=-1), plain(y, weight, bias).flatten(1).norm(dim=-1))
        return
    for r in range(4):
        alone = y[r].detach().requires_grad_()
        (LinearBlock(METHODS[name](), HEADS)(alone, weight[r], bias[r]).square() * SCALES).sum().backward()
        assert_close(y.grad[r], alone.grad, 1e-9)


def test_replicas_with_missing_cells():
    y, weight, bias = torch.randn(4, 16, 6, requires_grad=True), torch.randn(4, 7, 6), torch.randn(4, 7)
    observed = torch.rand(4, 16, 3) < 0.7
    eta = LinearBlock(MGDA(), HEADS)(y, weight, bias, observed=observed)
    (eta.square() * SCALES * observed[..., HEADS]).sum().backward()
    for r in range(4):
        alone = y[r].detach().requires_grad_()
        eta = LinearBlock(MGDA(), HEADS)(alone, weight[r], bias[r], observed=observed[r])
        (eta.square() * SCALES * observed[r][:, HEADS]).sum().backward()
        assert_close(y.grad[r], alone.grad, 1e-9)


def plain(y, weight, bias):
    leaf = y.detach().requires_grad_()
    ((leaf @ weight.mT + bias.unsqueeze(-2)).square() * SCALES).sum().backward()
    return leaf.grad


def test_without_bias_and_without_gradient_of_y():
    linear = nn.Linear(6, 7, bias=False)
    block = LinearBlock(MGDA(), HEADS)
    block(torch.randn(16, 6), linear.weight).square().sum().backward()
    assert linear.weight.grad.norm() > 0
    y = torch.randn(16, 6, requires_grad=True)
    block(y, linear.weight.detach()).square().sum().backward()
    assert y.grad.norm() > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision(dtype):
    y, linear = torch.randn(16, 6), nn.Linear(6, 7)
    expected = gradients(True, IMTLG(), y, linear)[1]
    found = gradients(True, IMTLG(), y.to(dtype), linear.to(dtype))
    assert all(f.dtype == dtype for f in found)
    assert_close(found[1], expected, {torch.float32: 1e-4}.get(dtype, 0.05))


def test_under_autocast():
    y, linear = torch.randn(16, 6).float(), nn.Linear(6, 7).float()
    expected = gradients(True, IMTLG(), y, linear)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = gradients(True, IMTLG(), y, linear)
    assert [f.dtype for f in found] == [torch.bfloat16, torch.float32, torch.float32, torch.float32]
    assert_close(found[1], expected[1], 0.05)


def test_per_head_gradients_are_never_built():
    """The largest tensor of the backward pass is P x P or rows x P, not heads x rows x features."""
    heads, rows, width = 40, 500, 30
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            seen.extend(r.numel() for r in torch.utils._pytree.tree_leaves(result) if torch.is_tensor(r))
            return result

    y, linear = torch.randn(rows, width, requires_grad=True), nn.Linear(width, heads)
    for method in (Sum(), IMTLG(), PCGrad(), GradNorm(), GradDrop(generator=generator())):
        eta = LinearBlock(method, range(heads))(y, linear.weight, linear.bias)
        with Watch():
            eta.square().sum().backward()
    assert max(seen) < heads * rows * width / 10


def test_anomaly_detection_names_the_head_alone():
    y, linear = torch.randn(16, 6, requires_grad=True), nn.Linear(6, 7)
    eta = LinearBlock(Sum(), HEADS)(y, linear.weight, linear.bias)
    scales = torch.ones(7)
    scales[2] = torch.nan
    loss = (eta * scales).sum()
    with (
        warnings.catch_warnings(action="ignore"),
        torch.autograd.detect_anomaly(check_nan=False),
        pytest.raises(FloatingPointError, match="gradient of head 1 at this LinearBlock"),
    ):
        loss.backward()


def test_twice_where_the_gradient_of_eta_is_a_constant():
    y, linear = torch.randn(16, 6, requires_grad=True), nn.Linear(6, 7)
    eta = LinearBlock(Sum(), HEADS)(y, linear.weight, linear.bias)
    (first,) = torch.autograd.grad(eta.sum(), y, create_graph=True)
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        first.square().sum().backward()


def test_stale_and_twice():
    y, linear = torch.randn(16, 6, requires_grad=True), nn.Linear(6, 7)
    eta = LinearBlock(Sum(), HEADS)(y, linear.weight, linear.bias)
    (first,) = torch.autograd.grad(eta.square().sum(), y, create_graph=True)
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        first.sum().backward()
    eta = LinearBlock(Sum(), HEADS)(y, linear.weight, linear.bias)
    eta.sum().backward()
    with pytest.raises(RuntimeError, match="A view from an earlier step was used again"):
        eta.sum().backward()


@pytest.mark.parametrize("heads", [[], [1, 2], [0, 2], [0.5], [[0]], [-1, 0]])
def test_columns_that_belong_nowhere(heads):
    with pytest.raises(ValueError, match="heads should be the number of the head of every column"):
        LinearBlock(Sum(), heads)


def test_shapes_that_do_not_fit():
    block = LinearBlock(Sum(), HEADS)
    with pytest.raises(ValueError, match=r"weight should have one row for each of the 7 columns.*\[5, 6\]"):
        block(torch.ones(3, 6), torch.ones(5, 6))
    with pytest.raises(ValueError, match=r"y should have shape .* Found \[3, 5\]"):
        block(torch.ones(3, 5), torch.ones(7, 6))
    with pytest.raises(ValueError, match=r"y should have shape .* Found \[3, 6\]"):
        block(torch.ones(3, 6), torch.ones(2, 7, 6))
    with pytest.raises(ValueError, match=r"observed should say .* shape \[3, 3\]"):
        block(torch.ones(3, 6), torch.ones(7, 6), observed=torch.ones(2, 3))
