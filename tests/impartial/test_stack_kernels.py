"""One launch for the chains of all replicas, and kernels around it: what torch gives, step by step."""

import copy

import pytest
import torch

from evenhand.impartial import (
    IMTLG,
    MGDA,
    PAPER_METHODS,
    Draws,
    GradDrop,
    GradNorm,
    LinearBlock,
    NashMTL,
    PCGrad,
    PerReplica,
    Sum,
    _linear_kernels,
    _total_kernels,
    method_of,
)

from ._asserts import assert_close
from ._on_a_gpu import DEVICE, MARKS, pretend, torch_only

pytestmark = MARKS
HEADS = [0, 0, 1, 2, 2, 2, 3]


@pytest.fixture(autouse=True)
def _as_on_a_gpu(monkeypatch):
    pretend(monkeypatch)


def passes(methods, *, steps=3, preserve_norm=True, size=1.0, seed=0, rows=6, missing=None):
    """Gradients at the features of a block after some backward passes, the last reading, and the state."""
    gen = torch.Generator().manual_seed(seed)
    draws = Draws()
    block = LinearBlock(PerReplica(methods, draws=draws), HEADS, preserve_norm=preserve_norm).to(DEVICE)
    n, found = len(methods), []
    for step in range(steps):
        draws.numbers = torch.rand(n, 16, generator=gen).to(DEVICE)
        y, weight, slopes = (
            torch.randn(*shape, generator=gen).float().to(DEVICE) for shape in ((n, rows, 5), (n, 7, 5), (n, rows, 7))
        )
        y.requires_grad_()
        if step == missing:
            slopes[..., -1] = 0  # of the last head
        block(y, weight).backward(slopes * size)
        found.append(y.grad / size)
    return torch.stack(found), block.last.weights, block.state_dict()


def assert_equal_passes(methods, **options):
    found, weights, state = passes(copy.deepcopy(methods), **options)
    expected, expected_weights, expected_state = torch_only(lambda: passes(copy.deepcopy(methods), **options))
    assert_close(found, expected, 2e-5)
    assert_close(weights, expected_weights, 2e-5)
    for name, tensor in state.items():
        if isinstance(tensor, torch.Tensor):
            assert_close(tensor.double(), expected_state[name].double(), 2e-5)


def test_all_choices_of_the_paper():
    assert_equal_passes([method_of(name) for name in PAPER_METHODS])


def test_the_same_gram_matrices_give_the_same_chains():
    methods = [method_of(name) for name in PAPER_METHODS]

    def settled():
        torch.manual_seed(0)
        draws = Draws()
        method = PerReplica(copy.deepcopy(methods), draws=draws)
        for _ in range(3):
            draws.numbers = torch.rand(len(methods), 16).to(DEVICE)
            result = method(torch.randn(len(methods), 4, 16).to(DEVICE))
        return result

    assert_close(settled(), torch_only(settled), 1e-9)


@pytest.mark.parametrize("size", [2.0**-80, 2.0**60])
def test_lengths_whose_squares_do_not_fit(size):
    assert_equal_passes([GradNorm(), MGDA(), IMTLG() >> PCGrad(), IMTLG() >> GradDrop()], size=size, steps=1)


def test_any_chain():
    """A scaling after a mixing, two mixings, three steps."""
    assert_equal_passes([PCGrad() >> GradNorm(1.0), PCGrad() >> PCGrad(), IMTLG() >> PCGrad() >> MGDA(), Sum()])


def test_restored_norms_of_some_replicas():
    where = torch.tensor([True, False, True, False], device=DEVICE)
    assert_equal_passes([IMTLG(), IMTLG(), GradDrop(), GradDrop()], preserve_norm=where, steps=1)


def test_a_reference_that_is_passed():
    """GradNorm notes the norms of a later step, and uses them after it."""
    assert_equal_passes([GradNorm(1.5, reference_step=1), GradNorm(0.5, reference_step=0)], steps=4)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_head_that_is_missing_when_norms_are_noted(missing):
    assert_equal_passes([GradNorm(1.5, reference_step=1), GradNorm(0.5, reference_step=0)], steps=4, missing=missing)


def test_a_method_without_a_branch_takes_all_the_other_way(monkeypatch):
    monkeypatch.setattr(PerReplica, "_one_launch", _fails_with_nash(PerReplica._one_launch))
    assert_equal_passes([NashMTL(), IMTLG()], steps=1)


def _fails_with_nash(one_launch):
    def check(self, gradients):
        program = one_launch(self, gradients)
        assert program is None
        return program

    return check


def test_a_subclass_is_not_its_parent():
    class Halved(IMTLG):
        def weights(self, gram, /):
            return 0.5 * super().weights(gram)

    found, *_ = passes([Halved(), IMTLG()], preserve_norm=False, steps=1, seed=1)
    expected, *_ = torch_only(lambda: passes([Halved(), IMTLG()], preserve_norm=False, steps=1, seed=1))
    assert_close(found, expected, 2e-5)


def test_kept_replicas_keep_what_they_have_learnt():
    def kept():
        method = PerReplica([GradNorm(1.0), IMTLG(), GradNorm(1.0), GradNorm()])
        torch.manual_seed(0)
        method(torch.randn(4, 3, 6).to(DEVICE))
        method.keep([2, 3])
        return method(torch.randn(2, 3, 6).to(DEVICE))

    assert_close(kept(), torch_only(kept), 1e-6)


def test_a_gradient_that_is_not_finite_teaches_nothing():
    """As long as one replica of a step learns, its step counts; if none does, it does not."""

    def learnt(rows):
        method = PerReplica([GradNorm(), GradNorm()])
        method(torch.ones(2, 3, 6, device=DEVICE))
        method(rows.to(DEVICE))
        return method.stages[0].steps[0]

    one, none = torch.randn(2, 3, 6), torch.full((2, 3, 6), torch.nan)
    one[0, 0, 0] = torch.inf
    for rows, steps in ((one, 2), (none, 1)):
        step, expected = learnt(rows), torch_only(lambda rows=rows: learnt(rows))
        assert int(step.steps) == int(expected.steps) == steps
        assert_close(step.state, expected.state, 1e-6)


def test_a_copy_learns_for_itself():
    method = PerReplica([GradNorm(), IMTLG()])
    method(torch.randn(2, 3, 6).to(DEVICE))
    before = method.stages[0].steps[0].state.clone()
    copied = copy.deepcopy(method)
    copied(torch.randn(2, 3, 6).to(DEVICE))
    assert torch.equal(method.stages[0].steps[0].state, before)
    assert not torch.equal(copied.stages[0].steps[0].state, before)


def test_loaded_state_is_used():
    """What is loaded lies elsewhere in memory: the program looks there."""

    def resumed():
        torch.manual_seed(0)
        first, second = (PerReplica([GradNorm(1.0), IMTLG()]) for _ in range(2))
        for _ in range(3):
            first(torch.randn(2, 3, 6).to(DEVICE))
            second(torch.randn(2, 3, 6).to(DEVICE))
        second.load_state_dict(first.state_dict())
        rows = torch.randn(2, 3, 6).to(DEVICE)
        return first(rows), second(rows), second.state_dict()["stages.0.steps.0.steps"]

    one, other, steps = resumed()
    assert torch.equal(one, other)
    assert int(steps) == 4


@pytest.mark.parametrize("rows", [1, 40, 512])
@pytest.mark.parametrize("columns", [7, 20])
def test_gram_of_linear_heads(rows, columns):
    torch.manual_seed(0)
    heads = torch.tensor([i % 5 for i in range(columns)], device=DEVICE)
    h, weight = torch.randn(2, rows, columns).float().to(DEVICE), torch.randn(2, columns, 3).float().to(DEVICE)
    h *= 10.0 ** (6 * torch.rand(columns, device=DEVICE) - 3)
    found = _linear_kernels.gram(h, weight, torch.nn.functional.one_hot(heads).double())
    per_head = torch.stack([(h * (heads == t)).double() @ weight.double() for t in range(5)], 1).flatten(2)
    expected = per_head @ per_head.mT
    norms = expected.diagonal(dim1=-2, dim2=-1).sqrt()
    assert ((found - expected).abs() <= 2e-6 * norms.unsqueeze(-1) * norms.unsqueeze(-2)).all()


def test_columns_whose_squares_float32_does_not_have():
    """Each at its own scale, also in one part of the rows alone."""
    h, weight = torch.randn(1, 256, 3).float().to(DEVICE), torch.randn(1, 3, 4).float().to(DEVICE)
    powers = 2.0 ** torch.tensor([-100.0, 0.0, 90.0], device=DEVICE).float()
    identity = torch.eye(3, dtype=torch.float64, device=DEVICE)
    found = _linear_kernels.gram(h * powers, weight, identity)
    wide = powers.double()
    assert_close(found / wide / wide.unsqueeze(-1), _linear_kernels.gram(h, weight, identity), 1e-6)
    h[:, :128, 0] = 0.0
    expected = h.double().mT @ h.double() * (weight.double() @ weight.double().mT)
    assert_close(_linear_kernels.gram(h, weight, identity), expected, 1e-6)


def test_squared_lengths():
    vectors = torch.randn(3, 2 * _total_kernels.PART + 5).float().to(DEVICE) * 2.0**-70
    scale = torch.tensor([1.0, 2.0**70, 4.0], dtype=torch.float64, device=DEVICE)
    expected = vectors.double().square().sum(-1) * scale.square()
    assert_close(_total_kernels.squared_lengths(vectors, scale), expected, 1e-12)


@pytest.mark.parametrize("leak", [0.0, 0.3, [0.0, 0.5, 1.0]])
def test_graddrop(leak):
    votes, numbers = torch.randn(2, 3, 40).float().to(DEVICE), torch.rand(2, 1, 40).float().to(DEVICE)
    votes[0, :, 0] = 0.0
    method = GradDrop(leak)
    found = _total_kernels.follow(votes, numbers, method.leak)
    assert torch.equal(found, method._multipliers(votes, numbers))
