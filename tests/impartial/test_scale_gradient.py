"""The local step."""

import pytest
import torch

from evenhand.impartial import scale_gradient


def test_identity_forward_and_scaled_backward():
    x = torch.randn(3, 4, requires_grad=True)
    y = scale_gradient(x, 3.0)
    assert torch.equal(x, y)
    y.square().sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach())


def test_a_factor_per_column():
    x = torch.ones(3, 2, requires_grad=True)
    scale_gradient(x, torch.tensor([1.0, 4])).sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([[1.0, 4]]).expand(3, 2))


def test_second_derivatives_and_low_precision():
    x = torch.ones(2, requires_grad=True, dtype=torch.bfloat16)
    (first,) = torch.autograd.grad(scale_gradient(x, 2.0).pow(3).sum(), x, create_graph=True)
    assert first.dtype == torch.bfloat16
    first.sum().backward()
    torch.testing.assert_close(x.grad, torch.full((2,), 24.0, dtype=torch.bfloat16))


@pytest.mark.parametrize("beta", [0, -1.0, float("nan")])
def test_a_senseless_factor(beta):
    with pytest.raises(ValueError, match="beta should be a positive number"):
        scale_gradient(torch.ones(2), beta)
