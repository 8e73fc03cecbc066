"""Blocks in compiled models: no graph break, the same numbers, and they can still be read."""

import copy

import pytest
import torch
from torch import nn

from evenhand.impartial import IMTLG, MGDA, GradNorm, ParameterBlock

from ._asserts import assert_close
from ._inputs import METHODS
from ._models import FusedMultiHead, MultiHead, gradient_of

X = torch.randn(6, 5, generator=torch.Generator().manual_seed(3)).double()

pytestmark = pytest.mark.filterwarnings("ignore")  # what torch says while it compiles is not ours


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch._dynamo.reset()


def compiled_gradient(model, backend="aot_eager", times=2):
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    for _ in range(times):
        model.zero_grad()
        compiled(X.to(next(model.parameters()).dtype)).backward()
    return torch.cat([p.grad.flatten() for p in model.encoder.parameters()])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_without_a_graph_break(name):
    model, eager = MultiHead(METHODS[name]()), MultiHead(METHODS[name]())
    eager.load_state_dict(model.state_dict())
    found = compiled_gradient(model)
    for _ in range(2):
        expected = gradient_of(eager, X)
    assert_close(found, expected, 1e-9)
    assert_close(model.block.last.weights, eager.block.last.weights, 1e-9)


def test_with_inductor():
    model = MultiHead(IMTLG())
    expected = gradient_of(copy.deepcopy(model), X)
    assert_close(compiled_gradient(model, "inductor"), expected, 1e-9)


def test_the_fused_block():
    plain = MultiHead(MGDA())
    model = FusedMultiHead(plain, MGDA())
    expected = gradient_of(copy.deepcopy(model), X)
    assert_close(expected, gradient_of(plain, X))
    assert_close(compiled_gradient(model), expected, 1e-9)


class SharedDecoder(nn.Module):
    def __init__(self, method):
        super().__init__()
        self.encoder = nn.Linear(5, 4)
        self.block = ParameterBlock(self.encoder, method)

    def forward(self, x):
        return sum((t + 1) * call(x * (t - 1)).square().mean() for t, call in enumerate(self.block(3)))


@pytest.mark.parametrize("name", ["mgda", "graddrop", "imtlg>>pcgrad"])
def test_the_parameter_block(name):
    model, eager = SharedDecoder(METHODS[name]()), SharedDecoder(METHODS[name]())
    eager.load_state_dict(model.state_dict())
    assert_close(compiled_gradient(model, times=1), gradient_of(eager, X), 1e-9)


def test_two_models_that_share_compiled_code_do_not_share_blocks():
    first, second = MultiHead(GradNorm()), MultiHead(GradNorm())
    for model in (first, second):
        compiled_gradient(model, times=1)
    assert first.block.method.steps.item() == 1
    assert second.block.method.steps.item() == 1
    assert not torch.equal(first.block.last.gram, second.block.last.gram)


def test_many_models_of_one_class():
    """Folds and seeds: more instances than the compiler would make graphs for."""
    for _ in range(12):
        compiled_gradient(MultiHead(MGDA()), times=1)


def test_a_mask_in_a_compiled_model():
    class Masked(MultiHead):
        def forward(self, x):
            y = self.encoder(x)
            observed = torch.ones(len(x), 3)
            views = self.block(y, 3, observed=observed)
            return sum(h(v).square().sum() for h, v in zip(self.heads, views, strict=True))

    model = Masked(MGDA())
    expected = gradient_of(copy.deepcopy(model), X)
    assert_close(compiled_gradient(model), expected, 1e-9)
