"""What `at` and `method` of `backward` may be, and what is said when they are something else."""

import copy
import gc
import weakref

import pytest
import torch
from torch import nn
from torch.autograd.graph import get_gradient_edge

from evenhand.impartial import (
    IMTLG,
    MGDA,
    Block,
    GradDrop,
    GradNorm,
    LinearBlock,
    Output,
    ParameterBlock,
    backward,
    find_blocks,
    impartial_sum,
)

from ._asserts import assert_close
from ._models import MultiHead
from .test_backward import X, features_and_losses, gradients, plain_and_blocked, shared_decoder_losses


def named(losses):
    return dict(zip("abc", losses, strict=True))


# Places that find_blocks found


def test_a_found_place_in_later_steps():
    plain, blocked = plain_and_blocked()
    (place,) = find_blocks(named(plain.losses(X)), plain)
    for x in (X, X[:4] + 1):  # the last batch is smaller
        backward(named(plain.losses(x)), at=place, method=IMTLG())
        sum(blocked.losses(x)).backward()
    assert_close(gradients(plain), gradients(blocked))


def test_a_found_place_keeps_no_graph():
    model = MultiHead(None)
    losses = named(model.losses(X))
    (place,) = find_blocks(losses, model)
    node = weakref.ref(losses["a"].untyped_storage())
    del losses
    gc.collect()
    assert node() is None
    assert place.address is not None


def test_found_parameters():
    decoder = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))
    other = copy.deepcopy(decoder)
    (place,) = find_blocks(named(shared_decoder_losses([decoder] * 3)), decoder)
    for _ in range(2):
        backward(named(shared_decoder_losses([decoder] * 3)), at=place, method=MGDA())
        backward(shared_decoder_losses([other] * 3), at=other, method=MGDA())
    for found, expected in zip(decoder.parameters(), other.parameters(), strict=True):
        assert_close(found.grad, expected.grad)


def test_a_found_place_where_a_loss_is_missing():
    model = MultiHead(None)
    (place,) = find_blocks(named(model.losses(X)), model)
    losses = named(model.losses(X))
    del losses["a"]
    assert backward(losses, at=place, method=IMTLG()).heads == ("b", "c")
    losses = {**named(model.losses(X)), "a": torch.tensor(0.0)}
    assert backward(losses, at=place, method=IMTLG()).norms[0] == 0
    with pytest.raises(ValueError, match="and that is no constant. Found 'a'"):
        backward({"a": torch.tensor(0.0)}, at=place, method=IMTLG())


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (
            lambda y, head: head(y).square().mean() + 1,
            r"0 operations before losses\['a'\], AddBackward0 instead of Mul",
        ),
        (lambda y, head: 2 * (head(y.relu()) - 0).square().mean(), "ReluBackward0 instead of TanhBackward0"),
        (lambda y, head: 2 * (head.weight.sum() + 0 * y.sum()), "SumBackward0|AddBackward0 instead of MeanBackward0"),
        (lambda y, head: 2 * y.detach().mean() * head.bias[0].detach().requires_grad_(), "instead of MeanBackward0"),
    ],
)
def test_another_graph(loss, message):
    model = MultiHead(None)
    (place,) = find_blocks(named(model.losses(X)), model)
    y = model.encoder(X)
    with pytest.raises(ValueError, match=f"Found another graph: .*({message}).* Call find_blocks again"):
        backward(named([loss(y, head) for head in model.heads]), at=place, method=IMTLG())


def test_another_width():
    narrow, wide = MultiHead(None), MultiHead(None, width=9)
    (place,) = find_blocks(named(narrow.losses(X)), narrow)
    with pytest.raises(ValueError, match=r"shape \[6, 9\] where one of \[6, 8\] was"):
        backward(named(wide.losses(X)), at=place, method=IMTLG())


def test_other_names():
    model = MultiHead(None)
    (place,) = find_blocks(named(model.losses(X)), model)
    with pytest.raises(
        ValueError, match="knew at this place, 'a', 'b', 'c', and that is no constant. Found '0', '1'"
    ):
        backward(model.losses(X), at=place, method=IMTLG())


def test_a_found_place_does_not_know_the_features():
    model = MultiHead(None)
    (place,) = find_blocks(named(model.losses(X)), model)
    with pytest.raises(ValueError, match=r"at should be a tensor or the Output of a module: GradDrop"):
        backward(named(model.losses(X)), at=place, method=GradDrop())


# The output of a module


def test_an_output_is_kept_until_it_is_used():
    model = MultiHead(None)
    output = Output(model.encoder)
    losses = model.losses(X)
    alive = weakref.ref(output._tensor)
    backward(losses, at=output, method=IMTLG())
    assert alive() is None
    with pytest.raises(ValueError, match="Found that Sequential was not: make the Output before"):
        backward(losses, at=output, method=IMTLG())


def test_an_evaluation_does_not_disturb():
    plain, blocked = plain_and_blocked()
    output = Output(plain.encoder)
    losses = plain.losses(X)
    with torch.no_grad():
        plain.losses(X + 1)
    backward(losses, at=output, method=IMTLG())
    sum(blocked.losses(X)).backward()
    assert_close(gradients(plain), gradients(blocked))


def test_a_model_with_an_output_can_be_copied():
    model = MultiHead(None)
    output = Output(model.encoder)
    model.losses(X)
    copy.deepcopy(model).losses(X)
    assert repr(output) == "Output(Sequential)"


def test_several_outputs():
    lstm = nn.LSTM(5, 4)
    with Output(lstm), pytest.raises(ValueError, match="Found that LSTM returns tuple; take a part of it"):
        lstm(X)
    lstm(X)  # the hook is gone


def test_the_output_of_something_else():
    with pytest.raises(ValueError, match="module should be a torch.nn.Module. Found int"):
        Output(3)


# Several places


def test_one_place_computed_from_another():
    trunk, middle, head = nn.Linear(5, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    y = trunk(X)
    z = middle(y).tanh()
    losses = [head(z).sum(), head(z).square().sum()]
    for at in ([z, y], [y, z], [trunk, z], [y, trunk], [y, y]):
        with pytest.raises(ValueError, match=r"at\[\d\] should not depend on at\[\d\].*keep one of the two"):
            backward(losses, at=at, method=IMTLG())
    backward(losses, at=[y, head], method=IMTLG())


def test_what_remembers_belongs_to_one_place():
    y, z = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    losses = [(y * z).sum(), (y * z).square().sum()]
    for method in (GradNorm(), Block(IMTLG()), [GradNorm() for _ in range(1)] * 2):
        with pytest.raises(ValueError, match="method should be one for each of the 2 places"):
            backward(losses, at=[y, z], method=method)
    with pytest.raises(ValueError, match="one for each of the 2. Found 3"):
        backward(losses, at=[y, z], method=[IMTLG()] * 3)
    backward(losses, at=[y, z], method=[GradNorm(), GradNorm()])


# Mistakes


Y = torch.ones(2, 3, requires_grad=True)


@pytest.mark.parametrize(
    ("losses", "at", "method", "message"),
    [
        ([Y.sum()], 3, IMTLG(), "at should be a tensor, a module .* Found int"),
        ([Y.sum()], [Y, None], IMTLG(), r"at\[1\] should be a tensor, a module .* Found NoneType"),
        ([Y.sum()], nn.Linear(3, 1).parameters(), IMTLG(), "at should be a tensor, .* Found generator"),
        ([Y.sum()], torch.ones(3), IMTLG(), "at should be a tensor that requires gradients"),
        ([Y.sum()], nn.Tanh(), IMTLG(), r"Found Tanh without any; for what it returns, use Output\(module\)"),
        ([], Y, IMTLG(), "losses should have at least one loss. Found none"),
        (Y.sum(), Y, IMTLG(), "losses should be a dictionary or a list .* Found Tensor"),
        ([Y.sum(), Y], Y, IMTLG(), r"losses\[1\] should be a tensor with one number. Found \[2, 3\]"),
        ({"a": 3.0}, Y, IMTLG(), r"losses\['a'\] should be a tensor with one number. Found float"),
        ([Y.sum()], Y, "auto", "method should be a method such as .* Found 'auto'"),
        ([Y.sum()], Y, 3, "method should be a method such as .* Found 3"),
        (
            [Y.sum()],
            Y,
            "gradnorm",
            "an object that is made once and kept, such as GradNorm.*Found the name 'gradnorm'",
        ),
        ([Y.sum()], Y, LinearBlock(IMTLG(), [0]), "a Block at at, which is a tensor. Found a LinearBlock"),
        (
            [Y.sum()],
            nn.Linear(3, 1),
            Block(IMTLG()),
            r"a ParameterBlock at at.* Found a Block; .*at=Output\(module\)",
        ),
        ([Y.sum()], Y, Block(IMTLG(), feature_axes=3), r"at should have at least the 3 axes .* Found shape \[2, 3\]"),
    ],
)
def test_mistakes_are_named(losses, at, method, message):
    with pytest.raises(ValueError, match=message):
        backward(losses, at=at, method=method)


def test_a_place_that_no_loss_reaches():
    y, z = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    with pytest.raises(ValueError, match=r"at\[1\] should be computed on the way .* none of 'a', 'b' depends on it"):
        backward({"a": y.sum(), "b": y.prod()}, at=[y, z], method=IMTLG())
    assert y.grad is None
    y.sum().backward()  # no hook was left behind
    assert_close(y.grad, torch.ones(2, 3))


def test_a_module_that_is_not_used():
    with pytest.raises(ValueError, match="should be computed on the way to one of the losses"):
        backward([Y.sum()], at=nn.Linear(3, 1), method=ParameterBlock(nn.Linear(3, 1), IMTLG()))


# Hooks


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):
        return y.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError("broken on purpose")


def hooks_at(tensor):
    """How many functions would run at this tensor, and before its node."""
    seen = []
    probe = get_gradient_edge(tensor).node.register_prehook(lambda gradients: seen.append(1))
    count = len(probe.hooks_dict_ref())
    probe.remove()
    return count - 1 + len(tensor._backward_hooks or ())


def test_hooks_are_gone_afterwards():
    model = MultiHead(None)
    y, losses = features_and_losses(model)
    impartial_sum(losses, at=y, method=IMTLG()).backward(retain_graph=True)
    assert hooks_at(y) == 0
    backward(losses, at=model.encoder[0], method=IMTLG())
    assert hooks_at(model.encoder[0].weight) == 0


def test_hooks_are_gone_if_the_place_is_not_reached():
    """Someone asks for the gradients of heads alone."""
    model = MultiHead(None)
    y, losses = features_and_losses(model)
    total = impartial_sum(losses, at=y, method=IMTLG())
    torch.autograd.grad(total, list(model.heads.parameters()), retain_graph=True)
    assert hooks_at(y) == 0


def test_hooks_do_nothing_if_something_raises():
    """The error comes after the settlement and before the place: from the weight of a head."""
    encoder, weight = nn.Linear(5, 4), torch.ones(4, 2, requires_grad=True)
    y = encoder(X)
    losses = [(y @ Broken.apply(weight)).sum(), 100 * y.square().sum()]
    (expected,) = torch.autograd.grad(sum(losses), encoder.weight, retain_graph=True)
    with pytest.raises(RuntimeError, match="on purpose"):
        backward(losses, at=y, method=IMTLG())
    assert hooks_at(y) == 0
    y = encoder(X)
    losses = [(y @ Broken.apply(weight)).sum(), 100 * y.square().sum()]
    total = impartial_sum(losses, at=y, method=IMTLG())
    with pytest.raises(RuntimeError, match="on purpose"):
        total.backward(retain_graph=True)
    assert hooks_at(y) == 1
    (found,) = torch.autograd.grad(sum(losses), encoder.weight, retain_graph=True)
    assert_close(found, expected)  # what was left behind belongs to another backward pass
    del total
    gc.collect()
    assert hooks_at(y) == 0
