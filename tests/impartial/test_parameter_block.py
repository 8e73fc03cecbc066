"""The block whose input is the parameters of a module."""

import pytest
import torch
from torch import nn

from evenhand.impartial import IMTLG, MGDA, GradDrop, ParameterBlock, PCGrad, Scaling, Sum

from ._asserts import assert_close
from ._inputs import METHODS, generator


class Only(Scaling):
    """Keep the gradient of one head alone."""

    def __init__(self, head):
        super().__init__()
        self.head = head

    def weights(self, gram):
        return torch.eye(gram.shape[-1])[self.head].expand(gram.shape[:-1])


def decoder():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def losses(calls, inputs):
    return [10.0**t * call(x).square().sum() for t, (call, x) in enumerate(zip(calls, inputs, strict=True))]


def gradients_alone(module, inputs):
    """The gradient of each use on its own, [T, P]."""
    rows = []
    for loss in losses([module] * len(inputs), inputs):
        grads = torch.autograd.grad(loss, list(module.parameters()))
        rows.append(torch.cat([g.flatten() for g in grads]))
    return torch.stack(rows)


def gradient(module, method, inputs, **options):
    module.zero_grad()
    sum(losses(ParameterBlock(module, method, **options)(len(inputs)), inputs)).backward()
    return torch.cat([p.grad.flatten() for p in module.parameters()])


INPUTS = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(1)).double()


def test_sum_is_plain_backward():
    module = decoder()
    assert_close(gradient(module, Sum(), INPUTS), gradients_alone(module, INPUTS).sum(0))


@pytest.mark.parametrize("head", range(3))
def test_dropping_the_others_leaves_exactly_one_share(head):
    """What the published code does not do: the gradients really change."""
    module = decoder()
    found = gradient(module, Only(head), INPUTS, preserve_norm=False)
    assert_close(found, gradients_alone(module, INPUTS)[head])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_sees_all_parameters_at_once(name):
    module = decoder()
    rows = gradients_alone(module, INPUTS)
    found = gradient(module, METHODS[name](), INPUTS, preserve_norm=False)
    assert_close(found, METHODS[name]()(rows).sum(0), 1e-7)
    restored = gradient(module, METHODS[name](), INPUTS)
    assert restored.norm().item() == pytest.approx(rows.sum(0).norm().item())


def test_batch_norm_keeps_its_statistics():
    module = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6))
    plain = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6))
    plain.load_state_dict(module.state_dict())
    for x in INPUTS:
        plain(x)
    gradient(module, MGDA(), INPUTS)
    assert_close(module[1].running_mean, plain[1].running_mean)
    assert module[1].num_batches_tracked == 3


def test_frozen_and_unused_parameters():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.unused = nn.Linear(4, 3), nn.Linear(4, 3), nn.Linear(4, 3)
            self.b.requires_grad_(False)

        def forward(self, x):
            return self.a(x) * self.b(x)

    module = Two()
    sum(losses(ParameterBlock(module, IMTLG())(3), INPUTS)).backward()
    assert module.a.weight.grad.norm() > 0
    assert module.b.weight.grad is None
    assert module.unused.weight.grad is None  # as without a block: weight decay must not move it


def test_changing_a_parameter_between_forward_and_backward():
    """Plain training allows it where autograd does not need the value."""
    module = nn.Linear(4, 3)
    total = sum(losses(ParameterBlock(module, Sum())(3), INPUTS))
    with torch.no_grad():
        module.bias.add_(1)
    total.backward()
    assert module.bias.grad is not None


def test_sparse_gradients_are_filled_up():
    module = nn.Embedding(5, 3, sparse=True)
    words = torch.tensor([[0, 1], [1, 4], [0, 0]])
    sum(
        10.0**t * call(w).square().sum()
        for t, (call, w) in enumerate(zip(ParameterBlock(module, MGDA())(3), words, strict=True))
    ).backward()
    assert not module.weight.grad.is_sparse
    assert module.weight.grad[2:4].norm() == 0


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x).tanh())

    module = Tied()
    assert_close(gradient(module, Sum(), INPUTS), gradients_alone(module, INPUTS).sum(0))


def test_the_module_stays_as_it_was():
    module = decoder()
    keys, classes = list(module.state_dict()), [type(m) for m in module.modules()]
    block = ParameterBlock(module, MGDA())
    block(2)
    assert list(module.state_dict()) == keys
    assert [type(m) for m in module.modules()] == classes
    assert not any(m._forward_hooks or m._backward_hooks for m in module.modules())
    assert list(block.parameters()) == []  # the module belongs to the model, not to the block


def test_no_grad():
    module = decoder()
    with torch.no_grad():
        first, _ = ParameterBlock(module, MGDA())(2)
        assert torch.equal(first(INPUTS[0]), module(INPUTS[0]))


def test_keyword_arguments_go_through():
    class Shifted(nn.Linear):
        def forward(self, x, *, shift):
            return super().forward(x) + shift

    module = Shifted(4, 2)
    first, _ = ParameterBlock(module, Sum())(2)
    assert_close(first(INPUTS[0], shift=2.0), module(INPUTS[0], shift=2.0))


def test_views_from_an_earlier_step():
    module = decoder()
    calls = ParameterBlock(module, MGDA())(3)
    sum(losses(calls, INPUTS)).backward()
    with pytest.raises(RuntimeError, match="A view from an earlier step was used again"):
        sum(losses(calls, INPUTS)).backward()


def test_differentiating_twice():
    module = decoder()
    total = sum(losses(ParameterBlock(module, PCGrad())(3), INPUTS))
    first = torch.autograd.grad(total, list(module.parameters()), create_graph=True)
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        first[0].sum().backward()


def test_half_precision():
    module = decoder().bfloat16()
    inputs = INPUTS.bfloat16()
    found = gradient(module, GradDrop(generator=generator()), inputs)
    assert found.dtype == torch.bfloat16
    assert found.isfinite().all()


def test_reading():
    block = ParameterBlock(decoder(), MGDA())
    sum(losses(block(3), INPUTS)).backward()
    assert block.last.shares.sum().item() == pytest.approx(1)


def test_something_else_than_a_module():
    with pytest.raises(ValueError, match=r"module should be a torch.nn.Module. Found 3"):
        ParameterBlock(3, Sum())
