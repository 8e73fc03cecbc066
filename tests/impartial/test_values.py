"""Numbers that were worked out before: outputs of the published methods where those are right."""

import pytest
import torch

from evenhand.impartial import IMTLG, MGDA, Block, CAGrad, GradNorm, PCGrad, Sum

from ._inputs import HARD

ROWS = HARD["easy"]  # norms 3.31662, 2.44949, 2.13600; the sum is exactly 3.75 long

BEFORE = {  # the sum of the result
    Sum(): (2.5, 1.5, 1.25, 2),
    IMTLG(): (0.68295, 0.74747, 0.39138, 0.56958),
    MGDA(): (0.60586, 0.68404, 0.36482, 0.71010),
    CAGrad(0.0): (0.83333, 0.5, 0.41667, 0.66667),
    CAGrad(0.4): (0.80547, 0.90940, 0.48502, 0.94405),
    CAGrad(10.0): (6.84550, 7.72879, 4.12202, 8.02322),
}
AFTER = {  # with its norm restored
    Sum(): (2.5, 1.5, 1.25, 2),
    IMTLG(): (2.0892, 2.28656, 1.19725, 1.7424),
    MGDA(): (1.87243, 2.11403, 1.12749, 2.19457),
    CAGrad(0.0): (2.5, 1.5, 1.25, 2),
    CAGrad(10.0): (1.87243, 2.11403, 1.12749, 2.19457),
}


@pytest.mark.parametrize(("method", "expected"), list(BEFORE.items()), ids=repr)
def test_sum_of_the_result(method, expected):
    torch.testing.assert_close(method(ROWS).sum(0), torch.tensor(expected), atol=6e-6, rtol=0)


@pytest.mark.parametrize(("method", "expected"), list(AFTER.items()), ids=repr)
def test_output_of_a_block(method, expected):
    y = torch.zeros(4, requires_grad=True)
    sum((row * view).sum() for row, view in zip(ROWS, Block(method)(y, 3), strict=True)).backward()
    torch.testing.assert_close(y.grad, torch.tensor(expected), atol=6e-6, rtol=0)
    assert y.grad.norm().item() == pytest.approx(3.75)


def test_weights():
    gram = ROWS @ ROWS.T
    torch.testing.assert_close(IMTLG().weights(gram), torch.tensor([0.33265, 0.43246, 0.23489]), atol=6e-6, rtol=0)
    torch.testing.assert_close(MGDA().weights(gram), torch.tensor([0.29153, 0.41531, 0.29316]), atol=6e-6, rtol=0)


def test_pcgrad_of_two():
    expected = torch.tensor([[2.33333, 1.33333, 1, -0.33333], [0.09091, 2, 0.36364, 0.63636]])
    torch.testing.assert_close(PCGrad()(ROWS[:2]), expected, atol=6e-6, rtol=0)


def test_gradnorm_over_a_thousand_steps():
    method, gram = GradNorm(0.0), ROWS @ ROWS.T
    history = [method.weights(gram) for _ in range(1001)]
    torch.testing.assert_close(history[0], torch.ones(3))
    torch.testing.assert_close(history[100], torch.tensor([0.87409, 1.06006, 1.06585]), atol=2e-5, rtol=0)
    torch.testing.assert_close(history[1000], torch.tensor([0.7678, 1.0398, 1.1924]), atol=2e-4, rtol=0)
