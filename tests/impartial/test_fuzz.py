"""Random blocks against a naive reference: shapes, types, modes, masks, uses of views, and every method.

Short here; `make fuzz` tries thousands of inputs. See docs/reliability.md.
"""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.checkpoint import checkpoint

from evenhand.impartial import Block, LinearBlock, ParameterBlock

from ._asserts import assert_close
from ._fuzz import cases, compare, pair, problems

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*[Aa]nomaly:UserWarning"),
]
MODES = ["plain", "eval", "twice", "retain", "autocast", "checkpoint", "reentrant", "anomaly", "copy", "computed"]


def losses(case, views):
    """The loss of every head, and the gradients that the views get."""
    uses = [pair(use, v, g) for use, v, g in zip(case.uses, views, case.gradients, strict=True)]
    return [loss for loss, _ in uses if loss is not None], [gradient for _, gradient in uses]


def backward(mode, case, y, block, views_of):
    """The gradient of y after a backward pass (or two) in some mode, and the gradients of the heads."""
    if mode == "eval":
        block.eval()
    if mode == "copy":
        block = copy.deepcopy(block)
        for step, original in zip(block.method.chain(), case.method().chain(), strict=True):
            if step.is_random:
                step.generator = original.generator
    rounds = 2 if mode in ("twice", "retain") and case.fixed else 1

    def loss_of(y):
        parts, rows = losses(case, views_of(block, y))
        return sum(parts) if parts else None, rows

    for number in range(rounds):
        if mode in ("checkpoint", "reentrant"):
            loss, rows = checkpoint(loss_of, y, use_reentrant=mode == "reentrant")
        elif mode == "autocast":
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss, rows = loss_of(y)
        elif mode == "retain" and number:
            pass
        else:
            loss, rows = loss_of(y * 1 if mode == "computed" else y)
        if loss is None or not loss.requires_grad:
            return torch.zeros_like(y), torch.stack(rows)
        with torch.autograd.set_detect_anomaly(mode == "anomaly"):
            loss.backward(retain_graph=mode == "retain")
    gradient = torch.zeros_like(y) if y.grad is None else y.grad
    return gradient / rounds, torch.stack(rows)


@st.composite
def features(draw):
    """A block for features of any shape, its case, and the layout of y."""
    feature_axes = draw(st.integers(1, 2))
    problem_axes = draw(st.sampled_from([0, 0, 1]))
    n_rows = draw(st.integers(0, 2))
    sizes = st.sampled_from([1, 2, 3, 4, 5, 0])
    shape = tuple(draw(sizes) for _ in range(feature_axes + problem_axes + n_rows))
    shape = draw(st.sampled_from([shape, shape, shape, ()] if feature_axes == 1 and not problem_axes else [shape]))
    case = draw(cases(shape))
    per_sample = draw(st.booleans()) and not any("gradnorm" in name for name in case.names) and case.fixed
    options = {"feature_axes": feature_axes, "problem_axes": problem_axes, "per_sample": per_sample}
    masked = draw(st.sampled_from([False, False, True])) and len(shape) > feature_axes
    transposed = draw(st.booleans()) and len(shape) > 1
    return case, options, masked, transposed, draw(st.sampled_from(MODES)), draw(st.integers(0, 2**31))


@given(features())
def test_features(drawn):
    case, options, masked, transposed, mode, seed = drawn
    if options["problem_axes"] and not case.fixed:
        options["problem_axes"] = 0  # random numbers are drawn for all problems at once
    g = torch.Generator().manual_seed(seed)
    shape = case.gradients.shape[1:]
    y = torch.randn(shape, generator=g, dtype=torch.float64).to(case.gradients.dtype)
    if transposed:
        y = y.transpose(0, -1).contiguous().transpose(0, -1)
    y.requires_grad_()
    rows_end = max(len(shape) - options["feature_axes"], 0)
    n = len(case.gradients)
    observed = (torch.rand(*shape[:rows_end], n, generator=g) < 0.7) if masked else None
    block = Block(case.method(), preserve_norm=case.preserve_norm, **options)
    found, gradients = backward(mode, case, y, block, lambda block, y: block(y, n, observed=observed))
    assert found.dtype == y.dtype
    assert found.shape == y.shape
    with torch.no_grad():
        assert all(torch.equal(v, y) and not v.requires_grad for v in block(y, n, observed=observed))
    if y.is_complex():
        found, gradients, y = (torch.view_as_real(t.detach()) for t in (found, gradients, y))
    problems_end = rows_end if options["per_sample"] else options["problem_axes"]
    outer, batch = math.prod(shape[:problems_end]), math.prod(shape[problems_end:rows_end])
    m = math.prod(y.shape[rows_end:])
    rows = gradients.detach().double().reshape(n, outer, batch, m).transpose(0, 1)
    mask = None if observed is None else observed.reshape(outer, batch, n)
    expected = problems(case, rows, y=y.detach().double().reshape(outer, batch, m), observed=mask)
    compare(case, found.reshape(outer, batch, m), expected)


@st.composite
def linear(draw):
    sizes = draw(st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(1, 3)))
    replicas = draw(st.sampled_from([(), (), (2,)]))
    case = draw(cases((*replicas, sizes[0], sizes[2]), complex_too=False))
    masked = draw(st.sampled_from([False, False, True]))
    modes = [mode for mode in MODES if mode != "autocast"]  # in which heads are of another type
    return case, sizes, replicas, masked, draw(st.sampled_from(modes)), draw(st.integers(0, 2**31))


@given(linear())
def test_linear(drawn):
    case, (batch, width, columns), replicas, masked, mode, seed = drawn
    if not case.fixed:
        replicas, case.gradients = (), case.gradients[(slice(None), 0)] if replicas else case.gradients
    g = torch.Generator().manual_seed(seed)
    n, dtype = len(case.gradients), case.gradients.dtype

    def make(*shape):
        return torch.randn(*replicas, *shape, generator=g, dtype=torch.float64).to(dtype).requires_grad_()

    y, weight, bias = make(batch, width), make(n * columns, width), make(n * columns)
    observed = (torch.rand(*replicas, batch, n, generator=g) < 0.7) if masked else None
    block = LinearBlock(
        case.method(), [t for t in range(n) for _ in range(columns)], preserve_norm=case.preserve_norm
    )

    def views_of(block, y):
        return block(y, weight, bias, observed=observed).split(columns, -1)

    found, gradients = backward(mode, case, y, block, views_of)
    h = gradients.detach().double()  # [T, *replicas, batch, columns]
    heads = weight.detach().double().unflatten(-2, (n, columns)).movedim(len(replicas), 0)
    rows = (h @ heads).reshape(n, math.prod(replicas), batch, width).transpose(0, 1)
    mask = (
        None if observed is None else observed.reshape(-1, batch, n) if batch else observed.reshape(len(rows), 0, n)
    )
    expected = problems(case, rows, y=y.detach().double().reshape(len(rows), batch, width), observed=mask)
    compare(case, found.reshape(len(rows), batch, width), expected)
    if bias.grad is not None and mode not in ("twice", "retain"):
        plain = h.sum(-2).movedim(0, -2).flatten(-2)
        size = h.abs().sum(-2).movedim(0, -2).flatten(-2)
        error = (bias.grad.double() - plain).abs()
        assert (error <= 3 * torch.finfo(dtype).eps * size + torch.finfo(dtype).tiny).all()


class Holder(nn.Module):
    """Parameters of some shapes; a call gives all of them, as one vector. Its parts hold each other twice."""

    def __init__(self, tensors):
        super().__init__()
        self.tensors = nn.ParameterList(tensors)
        self.again = nn.ModuleList([self.tensors, self.tensors])

    def forward(self):
        return torch.cat([p.reshape(-1) for p in self.again[1]])


@st.composite
def parameters(draw):
    shapes = draw(st.lists(st.sampled_from([(1,), (3,), (2, 3), (2, 2, 2), (0,), ()]), min_size=1, max_size=4))
    case = draw(cases((sum(map(math.prod, shapes)),)))
    return case, shapes, draw(st.sampled_from(["plain", "twice", "retain", "anomaly"])), draw(st.integers(0, 2**31))


@given(parameters())
def test_parameters(drawn):
    case, shapes, mode, seed = drawn
    g = torch.Generator().manual_seed(seed)
    n, dtype = len(case.gradients), case.gradients.dtype
    module = Holder([nn.Parameter(torch.randn(s, generator=g, dtype=torch.float64).to(dtype)) for s in shapes])
    block = ParameterBlock(module, case.method(), preserve_norm=case.preserve_norm)
    rounds = 2 if mode in ("twice", "retain") and case.fixed else 1
    for number in range(rounds):
        if mode != "retain" or number == 0:
            parts, gradients = losses(case, [use() for use in block(n)])
        if parts:
            with torch.autograd.set_detect_anomaly(mode == "anomaly"):
                sum(parts).backward(retain_graph=mode == "retain")
    gradients = torch.stack(gradients)
    assert all(type(p) is nn.Parameter for p in module.tensors)
    whole = [torch.zeros_like(p) if p.grad is None else p.grad / rounds for p in module.tensors]
    found = torch.cat([p.reshape(-1) for p in whole])
    if dtype.is_complex:
        found, gradients = (torch.view_as_real(t.detach()).flatten(-2) for t in (found, gradients))
    rows = gradients.detach().double().reshape(1, n, 1, -1) if gradients.numel() else torch.zeros(1, n, 1, 0).double()
    compare(case, found.reshape(1, 1, -1), problems(case, rows))


REFUSED = ["double", "grad", "vmap", "jvp", "in place", "stale"]


@given(cases((3, 2)), st.sampled_from(REFUSED), st.sampled_from(["features", "linear"]))
def test_refused(case, mode, kind):
    """What cannot be right is an error with words of ours, or of torch where it speaks of the views."""
    dtype, n = case.gradients.dtype, len(case.gradients)
    if kind == "linear" and (dtype.is_complex or mode == "in place"):
        return
    block, y = Block(case.method()), torch.ones(3, 2, dtype=dtype, requires_grad=True)
    if kind == "linear":
        fused, weight = LinearBlock(case.method(), range(n)), torch.ones(n, 2, dtype=dtype)

    def loss(y):
        parts = fused(y, weight).unbind(-1) if kind == "linear" else block(y, n)
        return sum((part.abs() if dtype.is_complex else part**2).sum() for part in parts)

    def twice():
        (gradient,) = torch.autograd.grad(loss(y), y, create_graph=True)
        torch.autograd.grad(gradient.abs().sum(), y)

    def stale():
        total = loss(y)
        total.backward()
        total.backward()

    asked = {
        "double": twice,
        "grad": lambda: torch.func.grad(lambda y: loss(y).real)(y.detach()),
        "vmap": lambda: torch.vmap(loss)(torch.stack([y, y])),
        "jvp": lambda: torch.func.jvp(loss, (y.detach(),), (y.detach(),)),
        "in place": lambda: block(y, max(n, 2))[0].mul_(2),
        "stale": stale,
    }
    words = "differentiated twice|torch.func.grad|inplace|in-place|earlier step|second time"
    with pytest.raises(RuntimeError, match=words):
        asked[mode]()
    assert y.grad is None or mode == "stale"


@given(cases((4, 3)), st.sampled_from(["no_grad", "inference_mode", "frozen"]), st.booleans())
def test_without_gradients(case, mode, fused):
    dtype, n = case.gradients.dtype, len(case.gradients)
    y = torch.randn(4, 3, dtype=torch.float64).to(dtype).requires_grad_(mode != "frozen")
    context = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode, "frozen": torch.enable_grad}[mode]
    with context():
        if fused and not dtype.is_complex:
            weight = torch.randn(n, 3, dtype=torch.float64).to(dtype)
            eta = LinearBlock(case.method(), range(n))(y, weight)
            assert_close(eta, nn.functional.linear(y, weight), 1e-9)
            assert not eta.requires_grad
        else:
            assert all(torch.equal(view, y) and not view.requires_grad for view in Block(case.method())(y, n))
            assert not hasattr(Block(case.method()), "last")
