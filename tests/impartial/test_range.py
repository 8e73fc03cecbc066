"""Gradients of any length: what a block does with them does not depend on the units they are measured in."""

import pytest
import torch
from torch.nn import functional as F

from evenhand.impartial import Block, CAGrad, FairGrad, LinearBlock, Monitor, NashMTL, _range
from evenhand.impartial._nash_mtl import _bargain
from evenhand.impartial._solvers import correlation

from ._asserts import assert_close
from ._inputs import METHODS, generator

CHOSEN = ["sum", "gradnorm", "mgda", "imtlg", "cagrad-0.4", "graddrop", "pcgrad", "nash", "fairgrad-0.2", "dbmtl"]
CHOSEN += ["aligned", "upgrad", "imtlg>>pcgrad", "graddrop>>mgda"]


def settled(name, rows, kind, **options):
    """What is passed on of gradients ``[T, 4, 6]``, in their type; and the block."""
    n = len(rows)
    y = torch.ones(4, 6, dtype=rows.dtype, requires_grad=True)
    if kind == "linear":
        block = LinearBlock(METHODS[name](), [t for t in range(n) for _ in range(6)], **options)
        weight = torch.eye(6, dtype=rows.dtype).repeat(n, 1)
        views = block(y, weight).split(6, -1)
    else:
        block = Block(METHODS[name](), **options)
        observed = torch.ones(4, n, dtype=torch.bool) if kind == "masked" else None
        views = block(y, n, observed=observed)
    torch.autograd.backward(views, list(rows))
    return y.grad.double(), block


@pytest.mark.parametrize("kind", ["features", "masked", "linear"])
@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("size", [1e-37, 1e-24, 1e20, 1e36])
def test_the_length_of_all_gradients(name, kind, size):
    """float32 has no squares of such numbers: 1e-24 used to give zero, and 1e20 NaN."""
    rows = torch.randn(3, 4, 6, generator=generator()).float()
    power = 2.0 ** round(torch.tensor(size).double().log2().item())
    expected, plain = settled(name, rows, kind)
    found, block = settled(name, rows * power, kind)
    assert_close(found / power, expected, 1e-5)
    assert_close(block.last.norms.double() / power, plain.last.norms, 1e-5)
    for reading in ("weights", "shares", "cosines", "agreement"):
        assert_close(getattr(block.last, reading), getattr(plain.last, reading), 1e-4)


@pytest.mark.parametrize("kind", ["features", "linear"])
@pytest.mark.parametrize("name", ["mgda", "imtlg", "nash", "dbmtl", "upgrad", "pcgrad", "cagrad-0.4"])
def test_gradients_of_very_different_length(name, kind):
    """Up to 1e20, as in double precision."""
    rows = torch.randn(3, 4, 6, generator=generator())
    rows = (rows * torch.tensor([1e-20, 1.0, 1e-9])[:, None, None]).float()
    expected, _ = settled(name, rows.double(), kind, preserve_norm=False)
    found, _ = settled(name, rows, kind, preserve_norm=False)
    assert_close(found, expected, 1e-4)
    found, _ = settled(name, rows, kind, preserve_norm=True)
    assert found.isfinite().all()


def test_every_problem_has_its_own_scale():
    rows = torch.randn(3, 2, 5, 4).float() * torch.tensor([1e-30, 1.0, 1e25])[:, None, None, None]
    y = torch.ones(3, 5, 4, dtype=torch.float32, requires_grad=True)
    block = Block(METHODS["imtlg"](), problem_axes=1)
    torch.autograd.backward(block(y, 2), list(rows.transpose(0, 1)))
    for problem, gradient, norms in zip(rows, y.grad, block.last.norms, strict=True):
        alone = torch.ones(5, 4, dtype=torch.float32, requires_grad=True)
        torch.autograd.backward(Block(METHODS["imtlg"]())(alone, 2), list(problem))
        assert_close(gradient, alone.grad, 1e-5)
        assert_close(norms, problem.double().flatten(1).norm(dim=1), 1e-5)
    monitor = Monitor({"y": block})
    monitor.record()
    assert all(torch.tensor(monitor.table()["norm"]).isfinite())


def test_usual_gradients_are_taken_as_they_are():
    """Bit by bit; only others are scaled."""
    gram = torch.eye(2, dtype=torch.float32)
    assert _range.measure(lambda rows: rows @ rows.mT, gram)[1] is None
    assert _range.measure(lambda rows: rows @ rows.mT, gram * 1e-25)[1] is not None
    zero = torch.tensor([[0.0, 0], [1, 2]], dtype=torch.float32)
    assert _range.measure(lambda rows: rows @ rows.mT, zero)[1] is None


def test_a_nan_leaves_the_scale_of_the_others():
    gram = torch.diag(torch.tensor([torch.nan, 1e-50, torch.inf]))
    narrowed, scale = _range.narrow(gram, torch.float32)
    assert scale.isfinite()
    assert narrowed[1, 1] / scale.square() == pytest.approx(1e-50)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("spread", [6, 15, 18, 20])
def test_cagrad_stays_in_its_ball(spread, dtype):
    """It used to go 2.2 times too far."""
    for seed in range(60):
        g = generator(seed)
        rows = torch.randn(4, 5, generator=g) * 10 ** (-spread * torch.rand(4, 1, generator=g))
        rows = (rows + (seed % 2) * rows.norm(dim=1, keepdim=True) * torch.randn(5, generator=g)).to(dtype)
        mean = rows.double().mean(0)
        away = CAGrad(0.4)(rows).double().sum(0) - mean
        assert away.norm() <= 0.4 * mean.norm() * (1 + 1e-5)


def ill_conditioned(condition, seed, heads=4):
    """Gradients whose Gram matrix has a given condition number."""
    g = generator(seed)
    left, right = (torch.linalg.qr(torch.randn(n, heads, generator=g))[0] for n in (heads, heads + 3))
    return (left * condition ** (-torch.linspace(0, 0.5, heads))) @ right.mT


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("condition", [1e4, 1e8, 1e10, 1e12, 1e15])
def test_nash_converges_at_any_condition(condition, dtype):
    """Twenty rounds in the weights alone left up to 46 % of such problems unsolved."""
    for seed in range(40):
        rows = ill_conditioned(condition, seed).to(dtype)
        r = correlation(rows @ rows.mT)
        u = _bargain(r)
        gains = u * ((r.matrix + r.ridge * torch.eye(4)) @ u)
        rounding = 100 * torch.finfo(torch.float64).eps * u.max().square()
        assert (gains - 1).abs().max() <= max(1e-6, rounding)


def test_nash_makes_all_heads_equally_better():
    rows = torch.tensor([[1, 1e-5], [-1, 2e-5], [0.5, 1e-5]])
    weights = NashMTL().weights(rows @ rows.mT)
    gains = weights * (rows @ (rows.mT @ weights))
    assert_close(gains, torch.full((3,), 0.75), 1e-4)
    assert_close(F.normalize(weights, dim=0), F.normalize(FairGrad(1.0).weights(rows @ rows.mT), dim=0), 1e-5)
