"""Two processes give the gradients of one process with the whole batch."""

import socket

import pytest
import torch
import torch.multiprocessing as mp
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from evenhand.impartial import Block, GradDrop, LinearBlock, Output, ParameterBlock, PCGrad, backward, find_blocks

from ._asserts import assert_close
from ._inputs import METHODS, generator

NAMES = ["sum", "gradnorm", "mgda", "imtlg", "cagrad-0.4", "graddrop", "pcgrad", "nash", "aligned", "upgrad"]
CHAINS = ["imtlg>>pcgrad", "gradnorm>>graddrop", "graddrop>>mgda"]
KINDS = ["features", "masked", "linear", "parameters", "per sample"]
CASES = [
    (name, kind)
    for name in NAMES + CHAINS
    for kind in KINDS
    # per sample, random numbers and states belong to rows, and those are on different processes
    if kind != "per sample" or not any(part in name for part in ("gradnorm", "pcgrad", "graddrop"))
]


class Model(nn.Module):
    """A model with a block of each kind."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
        self.heads = nn.Linear(8, 6)
        self.kind = kind
        method = METHODS[name]()
        if kind == "linear":
            self.block = LinearBlock(method, [0, 0, 1, 1, 2, 2])
        elif kind == "parameters":
            self.block = ParameterBlock(self.heads, method)
        else:
            self.block = Block(method, per_sample=kind == "per sample")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, observed = self.encoder(x), x[:, :3] > -0.5
        weight = torch.tensor([1.0, 1, 10, 10, 100, 100], dtype=x.dtype)
        if self.kind == "linear":
            eta = self.block(y, self.heads.weight, self.heads.bias)
        elif self.kind == "parameters":
            eta = torch.cat([call(y * (t - 1))[:, 2 * t : 2 * t + 2] for t, call in enumerate(self.block(3))], 1)
        else:
            views = self.block(y, 3, observed=observed if self.kind == "masked" else None)
            eta = torch.cat(
                [
                    nn.functional.linear(v, self.heads.weight[2 * t : 2 * t + 2], self.heads.bias[2 * t : 2 * t + 2])
                    for t, v in enumerate(views)
                ],
                1,
            )
        loss = (eta - 1).square() * weight
        return (
            (loss * observed.repeat_interleave(2, 1)).sum(1).mean() if self.kind == "masked" else loss.sum(1).mean()
        )


class Unedited(nn.Module):
    """A model without blocks: features of a trunk, and a decoder that serves every loss."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(8, 4) for _ in range(3))
        self.decoder = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        y = self.encoder(x)
        return [10.0**t * (self.decoder(head(y).tanh()) - t).square().mean() for t, head in enumerate(self.heads)]


PLACES = ["features", "parameters", "both"]


def unedited_gradients(model: nn.Module, plain: Unedited, place: str, name: str, x: torch.Tensor) -> torch.Tensor:
    """Two steps of one line each; `model` is `plain`, or wraps it."""
    with Output(plain.encoder) as output:
        at = {"features": [output], "parameters": [plain.decoder], "both": [output, plain.decoder]}[place]
        methods = [METHODS[name]() for _ in at]
        for _ in range(2):
            model.zero_grad()
            backward(model(x), at=at, method=methods)
    return torch.cat([p.grad.flatten() for p in plain.parameters()])


def data() -> torch.Tensor:
    return torch.randn(12, 5, generator=torch.Generator().manual_seed(5), dtype=torch.float32)


def gradients(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    for _ in range(2):  # twice, so that a state that went apart would show
        model.zero_grad()
        model(x).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def worker(rank: int, port: int, results: dict) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    torch.manual_seed(100 + rank)
    for name, kind in CASES:
        model = DistributedDataParallel(Model(name, kind))
        torch.manual_seed(100 + rank)  # random methods must agree all the same
        results[name, kind, rank] = gradients(model, data()[6 * rank : 6 * rank + 6])
    for name in NAMES + CHAINS:
        for place in PLACES:
            plain = Unedited()
            model = DistributedDataParallel(plain)
            torch.manual_seed(100 + rank)
            half = data()[6 * rank : 6 * rank + 6]
            results["unedited", name, place, rank] = unedited_gradients(model, plain, place, name, half)
    for name, method in (("pcgrad", PCGrad()), ("graddrop", GradDrop())):
        block = Block(method)
        y = torch.ones(1, 3, requires_grad=True)
        views = block(y, 5)
        torch.autograd.backward(views, list(torch.randn(5, 1, 3, generator=generator())))
        results[f"{name} unseeded", rank] = block.last.weights
        # rows that every process settles on its own may be of different number
        y = torch.ones(3 + rank, 4, requires_grad=True)
        torch.autograd.backward(
            Block(method, per_sample=True)(y, 2), [torch.randn(3 + rank, 4), -torch.ones(3 + rank, 4)]
        )
    if rank == 0:  # one process alone may call a method, and may diagnose a model that has blocks
        PCGrad()(torch.randn(3, 4))
        for kind in KINDS:
            model = Model("mgda", kind)
            loss = model(data())
            find_blocks({"a": loss, "b": 2 * loss}, model)
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def two_processes():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with mp.get_context("spawn").Manager() as manager:
        results = manager.dict()
        mp.spawn(worker, args=(port, results), nprocs=2)
        yield dict(results)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_two_processes_are_one(two_processes, name, kind):
    torch.set_default_dtype(torch.float32)
    first, second = two_processes[name, kind, 0], two_processes[name, kind, 1]
    assert torch.equal(first, second)
    assert_close(first, gradients(Model(name, kind), data()), 1e-5)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES + CHAINS)
def test_two_processes_with_a_model_that_is_not_edited(two_processes, name, place):
    torch.set_default_dtype(torch.float32)
    first, second = (two_processes["unedited", name, place, rank] for rank in range(2))
    assert torch.equal(first, second)
    plain = Unedited()
    assert_close(first, unedited_gradients(plain, plain, place, name, data()), 1e-5)


def test_local_decisions_would_differ():
    """What the test above is worth: settled apart, the halves do not add up to the whole."""
    torch.set_default_dtype(torch.float32)
    encoder = slice(0, 48)
    halves = [gradients(Model("imtlg", "features"), half)[encoder] for half in data().split(6)]
    whole = gradients(Model("imtlg", "features"), data())[encoder]
    assert (sum(halves) / 2 - whole).norm() > 1e-2 * whole.norm()


def test_random_methods_without_a_seed_agree(two_processes):
    for name in ("pcgrad", "graddrop"):
        assert torch.equal(two_processes[f"{name} unseeded", 0], two_processes[f"{name} unseeded", 1])
