"""Several losses of a model that is not edited: the same numbers as a block placed there."""

import copy

import pytest
import torch
from torch import nn

from evenhand.impartial import (
    IMTLG,
    MGDA,
    Block,
    GradNorm,
    Monitor,
    Output,
    ParameterBlock,
    Sum,
    backward,
    impartial_sum,
)

from ._asserts import assert_close
from ._inputs import METHODS
from ._models import MultiHead

X = torch.randn(6, 5, generator=torch.Generator().manual_seed(3)).double()


def plain_and_blocked(name="imtlg", **options):
    """The same model with a block and without."""
    plain, blocked = MultiHead(None), MultiHead(METHODS[name](), **options)
    blocked.load_state_dict(plain.state_dict(), strict=False)
    return plain, blocked


def features_and_losses(model, x=X):
    y = model.encoder(x)
    return y, [10.0**t * (head(y) - t).square().mean() for t, head in enumerate(model.heads)]


def gradients(model):
    return torch.cat([p.grad.flatten() for p in (*model.encoder.parameters(), *model.heads.parameters())])


@pytest.mark.parametrize("name", METHODS)
def test_features(name):
    """Over two steps, for methods that learn."""
    plain, blocked = plain_and_blocked(name)
    method = METHODS[name]()
    for step in range(2):
        sum(blocked.losses(X + step)).backward()
        y, losses = features_and_losses(plain, X + step)
        reading = backward(losses, at=y, method=method)
    assert_close(gradients(plain), gradients(blocked))
    assert_close(reading.weights, blocked.block.last.weights)
    assert_close(reading.gram, blocked.block.last.gram)


def shared_decoder_losses(calls):
    return [10.0**t * call(X * (t - 1.5)).square().mean() for t, call in enumerate(calls)]


@pytest.mark.parametrize("name", METHODS)
def test_parameters(name):
    decoder = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))
    other, method = copy.deepcopy(decoder), METHODS[name]()
    block = ParameterBlock(other, METHODS[name]())
    for _ in range(2):
        reading = backward(shared_decoder_losses([decoder] * 3), at=decoder, method=method)
        sum(shared_decoder_losses(block(3))).backward()
    for found, expected in zip(decoder.parameters(), other.parameters(), strict=True):
        assert_close(found.grad, expected.grad)
    assert_close(reading.weights, block.last.weights)


def test_sum_is_plain_backward():
    model, other = MultiHead(None), MultiHead(None)
    other.load_state_dict(model.state_dict())
    y, losses = features_and_losses(model)
    backward(losses, at=y, method=Sum())
    sum(other.losses(X)).backward()
    assert_close(gradients(model), gradients(other))


def test_the_value_is_the_sum():
    model = MultiHead(None)
    y, losses = features_and_losses(model)
    assert_close(impartial_sum(losses, at=y, method=IMTLG()), sum(losses))


def test_options_of_a_block_and_its_monitor():
    plain, blocked = plain_and_blocked("mgda", per_sample=True, preserve_norm=False)
    block = Block(MGDA(), per_sample=True, preserve_norm=False)
    monitor = Monitor(block)
    y, losses = features_and_losses(plain)
    backward(dict(zip("abc", losses, strict=True)), at=y, method=block)
    sum(blocked.losses(X)).backward()
    assert_close(gradients(plain), gradients(blocked))
    assert block.last.weights.shape == (6, 3)
    monitor.record()
    assert monitor.table()["head"] == ["a", "b", "c"]


def test_output_of_a_module():
    plain, blocked = plain_and_blocked()
    with Output(plain.encoder) as output:
        for step in range(2):
            backward(plain.losses(X + step), at=output, method="imtlg")
            sum(blocked.losses(X + step)).backward()
    assert_close(gradients(plain), gradients(blocked))
    assert not plain.encoder._forward_hooks
