"""What a block cannot do, it refuses with the way out; nothing is silently plain, dropped or zero."""

import threading

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.autograd import forward_ad

from evenhand.impartial import IMTLG, MGDA, Block, GradDrop, LinearBlock, ParameterBlock, Sum, find_blocks

from ._asserts import assert_close
from ._inputs import generator


class ThreeBlocks(nn.Module):
    def __init__(self, kind) -> None:
        super().__init__()
        self.kind = kind
        self.encoder = nn.Linear(3, 3)
        self.features, self.linear = Block(MGDA()), LinearBlock(MGDA(), [0, 1, 1])
        self.parameters_ = ParameterBlock(self.encoder, MGDA())

    def forward(self, x):
        if self.kind == "features":
            first, second = self.features(self.encoder(x), 2)
        elif self.kind == "linear":
            first, second = self.linear(x * self.encoder.bias, self.encoder.weight).split([1, 2], -1)
        else:
            first, second = (use(x) for use in self.parameters_(2))
        return first.sum() + second.square().sum()


KINDS = ["features", "linear", "parameters"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own, on its first use
def test_forward_mode(kind):
    """It used to give a derivative of zero, or an error that named no way out."""
    model, x = ThreeBlocks(kind), torch.randn(4, 3)
    with pytest.raises(RuntimeError, match="give every head y itself"):
        torch.func.jvp(lambda x: model(x), (x,), (x,))
    if kind != "parameters":  # whose own input is no dual number
        with forward_ad.dual_level(), pytest.raises(RuntimeError, match="forward-mode"):
            model(forward_ad.make_dual(x, x))
        with forward_ad.dual_level(), torch.no_grad(), pytest.raises(RuntimeError, match="forward-mode"):
            model(forward_ad.make_dual(x, x))


@pytest.mark.parametrize("kind", KINDS)
def test_function_transforms(kind):
    model, x = ThreeBlocks(kind), torch.randn(4, 2, 3)
    with pytest.raises(RuntimeError, match="torch.func.grad, vmap or jvp"):
        torch.func.grad(lambda x: model(x))(x[0])
    with pytest.raises(RuntimeError, match="torch.func.grad, vmap or jvp"):
        torch.vmap(lambda x: model(x))(x)
    with torch.no_grad():  # where nobody waits for gradients, vmap is welcome
        found = torch.vmap(lambda x: model(x))(x)
    assert_close(found, torch.stack([model(row) for row in x]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit.*:DeprecationWarning")
def test_export(kind):
    """The block used to be left out of the program."""
    model, x = ThreeBlocks(kind), torch.randn(4, 3)
    for export in (torch.export.export, torch.jit.trace):
        with pytest.raises(RuntimeError, match=r"under torch.no_grad\(\)"):
            export(model, (x,))
    with torch.no_grad():
        program = torch.export.export(model, (x,)).module()
        assert_close(torch.jit.trace(model, (x,))(x), model(x))
    assert_close(program(x), model(x))


def test_has_a_block_been_read():
    block = Block(MGDA())
    assert not hasattr(block, "last")
    with pytest.raises(RuntimeError, match=r"No backward pass has gone through this Block yet"):
        _ = block.last
    with pytest.raises(AttributeError, match="no attribute 'lost'"):
        _ = block.lost
    a, b = block(torch.ones(2, requires_grad=True), 2)
    (a + b).sum().backward()
    assert hasattr(block, "last")


def test_complex_features_keep_both_parts():
    y = torch.randn(4, 3, dtype=torch.complex64, requires_grad=True)
    a, b = Block(Sum())(y, 2)
    (a.imag.sum() + b.real.sum()).backward()
    assert_close(torch.view_as_real(y.grad), torch.ones(4, 3, 2), 1e-6)


@pytest.mark.parametrize("shape", [(), (3,), (4, 3), (0, 3), (4, 0), (2, 4, 3)])
@pytest.mark.parametrize("method", [MGDA, IMTLG, lambda: GradDrop(generator=generator())])
def test_complex_features_are_pairs_of_real_ones(shape, method):
    y = torch.randn(shape, dtype=torch.complex128, requires_grad=True)
    pairs = torch.view_as_real(y.detach()).flatten(-2) if shape else torch.view_as_real(y.detach())
    pairs.requires_grad_()
    weight = torch.randn((2, *shape), dtype=torch.complex128)
    first, second = Block(method())(y, 2)
    ((first * weight[0]).sum().real + (second * second * weight[1]).sum().imag).backward()
    views = [torch.view_as_complex(v.reshape(*shape, 2)) for v in Block(method())(pairs, 2)]
    ((views[0] * weight[0]).sum().real + (views[1] * views[1] * weight[1]).sum().imag).backward()
    assert_close(torch.view_as_real(y.grad).flatten(), pairs.grad.flatten())


def test_complex_parameters():
    module = nn.Linear(3, 2, dtype=torch.complex128)
    x = torch.randn(4, 3, dtype=torch.complex128)
    first, second = ParameterBlock(module, Sum())(2)
    (first(x).imag.sum() + second(x).abs().sum()).backward()
    found = [p.grad.clone() for p in module.parameters()]
    module.zero_grad()
    (module(x).imag.sum() + module(x).abs().sum()).backward()
    for gradient, p in zip(found, module.parameters(), strict=True):
        assert_close(torch.view_as_real(gradient), torch.view_as_real(p.grad))


def test_complex_linear_heads_are_refused():
    weight = torch.randn(2, 3, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(ValueError, match="use a Block followed by one linear layer per head"):
        LinearBlock(MGDA(), [0, 1])(torch.randn(4, 3, dtype=torch.complex64), weight)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("method", [MGDA, IMTLG, lambda: GradDrop(generator=generator())])
def test_no_rows_but_a_mask(fused, method):
    """One process of several may have got an empty batch."""
    y, observed = torch.zeros(0, 3, requires_grad=True), torch.ones(0, 2, dtype=torch.bool)
    if fused:
        LinearBlock(method(), [0, 1])(y, torch.randn(2, 3), observed=observed).sum().backward()
    else:
        sum(Block(method())(y, 2, observed=observed)).sum().backward()
    assert y.grad.shape == (0, 3)


def test_a_search_does_not_disturb_other_threads():
    plain, stop = [], threading.Event()

    def train():
        for _ in range(100):
            block = Block(MGDA())
            y = torch.randn(4, 3, requires_grad=True)
            a, b = block(y, 2)
            (a.sum() + b.square().sum()).backward()
            plain.append(not hasattr(block, "last"))
        stop.set()

    thread = threading.Thread(target=train)
    thread.start()
    linear = nn.Linear(3, 200)
    while not stop.is_set():
        y = linear(torch.randn(50, 3)).tanh()
        find_blocks({"a": y.sum(), "b": y.square().sum()})
    thread.join()
    assert not any(plain)


@pytest.mark.parametrize("tied", ["module", "weight"])
def test_a_module_that_holds_another_twice(tied):
    """It used to keep aliases in place of its parameters, and failed in the second step."""
    layer, other = nn.Linear(3, 3), nn.Linear(3, 3)
    other.weight = layer.weight
    module = nn.Sequential(layer, nn.Tanh(), layer if tied == "module" else other)
    before = dict(module.named_parameters(remove_duplicate=False))
    block, x = ParameterBlock(module, Sum()), torch.randn(2, 4, 3)
    for _ in range(2):
        module.zero_grad()
        first, second = block(2)
        (first(x[0]).square().sum() + second(x[1]).sum()).backward()
        after = dict(module.named_parameters(remove_duplicate=False))
        assert all(after[name] is p for name, p in before.items())
    found = layer.weight.grad.clone()
    module.zero_grad()
    (module(x[0]).square().sum() + module(x[1]).sum()).backward()
    assert_close(found, layer.weight.grad)


@pytest.fixture
def _one_process(tmp_path):
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Sharded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.decoder = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.block = ParameterBlock(self.decoder, MGDA())

    def forward(self, x):
        first, second = self.block(2)
        return first(x).square().sum() + 100 * second(x).cos().sum()


@pytest.mark.usefixtures("_one_process")
@pytest.mark.filterwarnings("ignore")  # what FSDP says on a CPU
@pytest.mark.parametrize("where", ["module", "part", "outside"])
def test_fully_sharded(where):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh, x = init_device_mesh("cpu", (1,)), torch.randn(4, 3)
    plain, model = Sharded(), Sharded()
    plain(x).backward()
    fully_shard({"module": model.decoder, "part": model.decoder[0], "outside": model}[where], mesh=mesh)
    if where == "outside":
        model(x).backward()
        found = model.decoder[0].weight.grad.full_tensor()
        assert_close(found, plain.decoder[0].weight.grad)
        assert_close(model.block.last.weights, plain.block.last.weights)
    else:
        with pytest.raises(ValueError, match="Shard a module that contains it"):
            model(x)


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_with_respect_to_the_input(kind):
    """Asked for in this way they used to be None, and zero in torch.autograd.functional.hessian."""
    model, x = ThreeBlocks(kind), torch.randn(4, 3, requires_grad=True)
    wanted = x if kind == "features" else model.encoder.weight if kind == "parameters" else model.encoder.bias
    (gradient,) = torch.autograd.grad(model(x), wanted, create_graph=True)
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        torch.autograd.grad(gradient.sum(), wanted, allow_unused=True)
    if kind == "features":
        with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
            torch.autograd.functional.hessian(model, x)
