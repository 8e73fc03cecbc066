"""A replica gets what its method alone would give it, whoever shares the stack."""

import contextlib

import pytest
import torch
from torch import nn

from evenhand.impartial import (
    IMTLG,
    MGDA,
    CAGrad,
    Compose,
    Draws,
    GradDrop,
    GradNorm,
    LinearBlock,
    Method,
    PCGrad,
    PerReplica,
    Scaling,
    Sum,
    uniform,
)
from evenhand.impartial._per_replica import _SideBySide

from ._asserts import assert_close
from ._inputs import METHODS, RANDOM

T, N, WIDTH = 4, 10, 6
HEADS = [0, 0, 1, 2, 2, 3, 1]

# the methods of the paper and chains of them, of several lengths, some of them twice and far apart
CHAINS = {
    "sum": Sum,
    "gradnorm": GradNorm,
    "gradnorm-1": lambda: GradNorm(1.0, reference_step=2),
    "mgda": MGDA,
    "imtlg": IMTLG,
    "cagrad-0.4": CAGrad,
    "cagrad-10": lambda: CAGrad(10.0),
    "pcgrad": PCGrad,
    "graddrop": GradDrop,
    "graddrop-leak": lambda: GradDrop(0.3),
    "imtlg>>pcgrad": lambda: IMTLG() >> PCGrad(),
    "gradnorm>>pcgrad": lambda: GradNorm() >> PCGrad(),
    "gradnorm>>graddrop": lambda: GradNorm() >> GradDrop(),
    "mgda>>graddrop": lambda: MGDA() >> GradDrop(),
    "pcgrad>>imtlg": lambda: PCGrad() >> IMTLG(),
    "three": lambda: GradNorm() >> IMTLG() >> PCGrad(),
    "three with graddrop": lambda: GradNorm(1.0) >> PCGrad() >> GradDrop(),
    "nothing": Compose,
    "imtlg again": IMTLG,
    "gradnorm again": GradNorm,
}


def replicas(names=CHAINS):
    """Fresh methods, all with the draws of one stack, and the draws."""
    draws = Draws()
    return PerReplica([CHAINS[name]() for name in names], draws=draws), draws


def alone(name, numbers):
    """The method of one replica with a leading axis of one; random numbers are assigned through the result."""
    draws = Draws()
    method = CHAINS[name]()
    for step in method.modules():
        if hasattr(step, "generator"):
            step.generator = draws
    draws.numbers = numbers
    return method, draws


def steps(n, r, seed=5):
    """Gradients and uniform numbers of some backward passes."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(n):
        scales = 10 ** torch.randn(r, T, 1, generator=generator)
        yield scales * torch.randn(r, T, N, generator=generator), torch.rand(r, N, generator=generator)


def test_every_replica_gets_what_its_method_alone_would_give_it():
    stack, draws = replicas()
    single = {name: alone(name, None) for name in CHAINS}
    for gradients, numbers in steps(5, len(CHAINS)):
        draws.numbers = numbers
        together = stack(gradients)
        for r, (method, own) in enumerate(single.values()):
            own.numbers = numbers[r : r + 1]
            assert_close(together[r], method(gradients[r : r + 1])[0], 1e-9)


def through_block(block, y, weight, bias, loss_scales):
    y = y.clone().requires_grad_()
    ((block(y, weight, bias) - 1).square() * loss_scales).sum().backward()
    return y.grad


@pytest.mark.parametrize("preserve_norm", [True, False])
def test_every_replica_gets_the_same_through_a_linear_block(preserve_norm):
    stack, draws = replicas()
    block = LinearBlock(stack, HEADS, preserve_norm=preserve_norm)
    single = {name: alone(name, None) for name in CHAINS}
    singles = {name: LinearBlock(m, HEADS, preserve_norm=preserve_norm) for name, (m, _) in single.items()}
    scales = torch.tensor([1, 1, 10, 0.1, 0.1, 3, 10])
    r = len(CHAINS)
    for _ in range(4):
        y, weight, bias = torch.randn(r, 9, WIDTH), torch.randn(r, len(HEADS), WIDTH), torch.randn(r, len(HEADS))
        draws.numbers = torch.rand(r, WIDTH)
        together = through_block(block, y, weight, bias, scales)
        for i, name in enumerate(CHAINS):
            single[name][1].numbers = draws.numbers[i : i + 1]
            one = through_block(singles[name], *(t[i : i + 1] for t in (y, weight, bias)), scales)
            assert_close(together[i], one[0], 1e-9)


def test_methods_differ():
    """The comparison above would not be worth much if all replicas got the same."""
    names = [n for n in CHAINS if "again" not in n and n != "nothing"]
    stack, draws = replicas(names)
    for gradients, numbers in steps(10, 1):
        draws.numbers = numbers.expand(len(names), -1)
        results = stack(gradients.expand(len(names), -1, -1))
    for i in range(len(names)):
        for j in range(i):
            assert not torch.allclose(results[i], results[j]), (names[i], names[j])


@pytest.mark.parametrize("order", [list(range(len(CHAINS)))[::-1], [3, 0, 12, 10, 18, 4, 11, 1, 9]])
def test_the_order_of_replicas_does_not_matter(order):
    names = list(CHAINS)
    (whole, draws), (other, other_draws) = replicas(), replicas([names[i] for i in order])
    for gradients, numbers in steps(4, len(names)):
        draws.numbers, other_draws.numbers = numbers, numbers[order]
        assert_close(other(gradients[order]), whole(gradients)[order], 1e-9)


@pytest.mark.parametrize("kept", [[0], [19, 1, 2, 16], list(range(1, 20, 2)), list(range(19, -1, -1)), [8, 12]])
def test_kept_replicas_go_on_as_before(kept):
    (whole, draws), (cut, cut_draws) = replicas(), replicas()
    for step, (gradients, numbers) in enumerate(steps(8, len(CHAINS))):
        draws.numbers = numbers
        expected = whole(gradients)[kept]
        if step < 4:
            cut_draws.numbers = numbers
            cut(gradients)
            continue
        if step == 4:
            cut.keep(kept)
            assert len(cut.names) == len(kept)
        cut_draws.numbers = numbers[kept]
        assert_close(cut(gradients[kept]), expected, 1e-9)


def test_gradnorms_state_follows_its_replica():
    draws = [PerReplica([GradNorm(), IMTLG(), GradNorm(), GradNorm()]) for _ in range(2)]
    whole, cut = draws
    for gradients, _ in steps(30, 4):
        assert_close(whole(gradients), cut(gradients), 0.0)
    learnt = whole.stages[0].steps[0].state
    assert (learnt[0, 0] != learnt[0, 1]).any()  # weights of the first and the third replica
    cut.keep([3, 0])
    assert (cut.stages[0].steps[0].state == learnt[:, [2, 0]]).all()
    with pytest.raises(ValueError, match="gradients should have one problem for each of 2 replicas"):
        cut(torch.randn(4, T, N))


def test_replicas_share_a_call_where_they_can():
    calls = []

    class Counting(Scaling):
        def weights(self, gram, /):
            calls.append(len(gram))
            return gram.diagonal(dim1=-2, dim2=-1).rsqrt()

    methods = [Counting(), Counting() >> IMTLG(), Counting(), Sum(), Counting() >> MGDA() >> IMTLG()]
    PerReplica(methods)(torch.randn(5, T, N))
    assert calls == [4]


def test_patterns_are_not_changed():
    pattern = GradNorm()
    PerReplica([pattern, pattern])(torch.randn(2, T, N))
    assert pattern.state.numel() == 0


def test_states_are_saved():
    methods = [GradNorm(), IMTLG(), GradNorm(1.0) >> PCGrad()]
    draws = Draws()
    draws.numbers = torch.rand(3, N)
    one, two = PerReplica(methods, draws=draws), PerReplica(methods, draws=draws)
    for gradients, _ in steps(5, 3):
        one(gradients)
    assert not torch.equal(one(gradients), two(gradients))
    two.load_state_dict(one.state_dict())
    assert torch.equal(one(gradients), two(gradients))


@pytest.mark.parametrize("kept", [[19, 1, 2, 16], list(range(19, -1, -1)), [15, 11], [0, 17]])
def test_states_of_kept_replicas_are_loaded_by_replicas_of_their_own(kept):
    (cut, draws), (alone, own_draws) = replicas(), replicas([list(CHAINS)[r] for r in kept])
    for step, (gradients, numbers) in enumerate(steps(8, len(CHAINS))):
        draws.numbers = own_draws.numbers = numbers if step < 4 else numbers[kept]
        if step < 4:
            cut(gradients)
            continue
        if step == 4:
            cut.keep(kept)
            alone.load_state_dict(cut.state_dict())
        assert torch.equal(alone(gradients[kept]), cut(gradients[kept]))


@pytest.mark.parametrize(
    "others", [[GradNorm(), IMTLG()], [IMTLG(), GradNorm(), Sum()], [GradNorm(), IMTLG(), PCGrad()]]
)
def test_states_of_other_methods_are_refused(others):
    stack, other = PerReplica([GradNorm(), IMTLG(), Sum()]), PerReplica(others)
    stack(torch.randn(3, T, N))
    learnt = stack.stages[0].steps[0].state.clone()
    with pytest.raises(
        ValueError, match="The state should be of the methods GradNorm.*, in this order. Found others"
    ):
        stack.load_state_dict(other.state_dict())
    assert torch.equal(stack.stages[0].steps[0].state, learnt)


def test_flags_are_those_of_the_methods():
    assert not PerReplica([Sum(), IMTLG()]).uses_input
    assert PerReplica([Sum(), GradDrop()]).uses_input
    assert not PerReplica([Sum(), PCGrad()]).learns
    assert PerReplica([Sum(), GradNorm() >> PCGrad()]).learns
    assert "3 replicas" in repr(PerReplica([Sum(), IMTLG(), Sum()]))


def test_random_methods_without_draws_use_a_generator():
    torch.manual_seed(1)
    one = PerReplica([PCGrad(), GradDrop()])(torch.ones(2, T, N) * torch.arange(-2.0, T - 2).view(1, T, 1))
    assert one.isfinite().all()


def test_single_precision():
    stack, draws = replicas()
    gradients, numbers = next(steps(1, len(CHAINS)))
    draws.numbers = numbers
    found = stack(gradients.float())
    assert found.dtype == torch.float32
    fresh, draws = replicas()
    draws.numbers = numbers
    assert_close(found.double(), fresh(gradients), 1e-3)


# Mistakes


def test_what_is_not_a_method_is_refused():
    with pytest.raises(ValueError, match=r"methods\[1\] should be a method such as IMTLG\(\). Found 'imtlg'"):
        PerReplica([Sum(), "imtlg"])


@pytest.mark.parametrize("shape", [(2, T, N), (4, T, N), (T, N), (3, 2, T, N)])
def test_another_number_of_replicas_is_refused(shape):
    stack = PerReplica([IMTLG(), Sum(), IMTLG()])
    with pytest.raises(ValueError, match="gradients should have one problem for each of 3 replicas. Found"):
        stack(torch.randn(shape))


def test_heads_are_checked():
    stack = PerReplica([Sum(), IMTLG() >> GradDrop([0.1, 0.2])], draws=Draws())
    with pytest.raises(ValueError, match="leak should be one number, or one for each of the 4 heads. Found 2"):
        stack(torch.randn(2, T, N))


@pytest.mark.parametrize("chain", [GradDrop() >> MGDA(), IMTLG() >> GradDrop() >> PCGrad()])
def test_graddrop_in_the_midst_of_a_chain_is_refused(chain):
    # what comes behind it would change what the other replicas' GradDrop votes with
    with pytest.raises(ValueError, match=r"methods\[1\] should have GradDrop last in its chain. Found"):
        PerReplica([GradDrop(), chain])


def test_methods_that_replace_gradients_are_refused():
    class Reverse(Method):
        def settle(self, gradients, /):
            return gradients.replace(gradients.stacked().flip(-1))

    with pytest.raises(NotImplementedError, match="Reverse.. puts other gradients in place"):
        PerReplica([Sum(), Reverse()])(torch.randn(2, T, N))


def test_methods_with_equal_names_and_other_settings_are_not_taken_for_one():
    class Power(Scaling):
        def __init__(self, power):
            super().__init__()
            self.power = power

        def weights(self, gram, /):
            return gram.diagonal(dim1=-2, dim2=-1) ** self.power

    gradients = torch.randn(2, T, N)
    found = PerReplica([Power(1.0), Power(2.0)])(gradients)
    for r, power in enumerate((1.0, 2.0)):
        assert_close(found[r], Power(power)(gradients[r]))


def test_draws_before_the_first_assignment():
    with pytest.raises(RuntimeError, match="Assign numbers to the Draws before the backward pass"):
        PerReplica([PCGrad()], draws=Draws())(torch.randn(1, T, N))


def test_draws_of_a_wrong_shape():
    draws = Draws()
    stack = PerReplica([PCGrad(), PCGrad()], draws=draws)
    draws.numbers = torch.rand(2, T - 1)
    with pytest.raises(ValueError, match=r"numbers should have 2 rows and at least 4 columns. Found \[2, 3\]"):
        stack(torch.randn(2, T, N))
    for rows in (1, 3):
        draws.numbers = torch.rand(rows, N)
        with pytest.raises(ValueError, match=f"numbers .* one row for each of 2 replicas. Found {rows}"):
            stack(torch.randn(2, T, N))
        with pytest.raises(ValueError, match=rf"numbers should have 2 rows and at least 4 columns. Found \[{rows}"):
            draws.take((2, T))


def test_parts_of_draws_follow_the_whole():
    draws = Draws()
    part, scattered = draws.part(slice(1, 3)), draws.part(torch.tensor([3, 0]))
    for _ in range(2):
        draws.numbers = torch.rand(4, 6)
        assert (part.take((2, 5)) == draws.numbers[1:3, :5]).all()
        assert (scattered.take((2, 1, 6)) == draws.numbers[[3, 0]].unsqueeze(1)).all()
        assert (draws.take((4, 2)) == draws.numbers[:, :2]).all()


def test_the_numbers_decide():
    """Equal numbers, equal results; other numbers, other results."""
    gradients = torch.randn(1, T, N).expand(3, -1, -1)
    for method in (PCGrad, GradDrop):
        draws = Draws()
        stack = PerReplica([method() for _ in range(3)], draws=draws)
        draws.numbers = torch.rand(3, N)
        draws.numbers[1] = draws.numbers[0]
        results = stack(gradients)
        assert torch.equal(results[0], results[1])
        assert not torch.equal(results[0], results[2])


def test_every_method_of_the_library_can_be_a_replica():
    names = [name for name in METHODS if name not in ("graddrop>>mgda",)]
    draws = Draws()
    draws.numbers = torch.rand(len(names), N)
    gradients = torch.randn(len(names), T, N)
    together = PerReplica([METHODS[n]() for n in names], draws=draws)(gradients)
    for r, name in enumerate(names):
        if "pcgrad" not in name and "graddrop" not in name:
            assert_close(together[r], METHODS[name]()(gradients[r]), 1e-9)


def test_a_block_moves_with_its_replicas():
    block = nn.ModuleList([LinearBlock(PerReplica([IMTLG(), GradNorm()]), HEADS)]).double()
    assert "2 replicas" in repr(block)


def test_only_streams_in_use_are_waited_for(monkeypatch):
    """A captured graph must not wait for a stream that it has not captured, such as one from before `keep`."""
    waits = []

    class Stream:
        def __init__(self, name):
            self.name = name

        def wait_stream(self, other):
            waits.append((self.name, other.name))

    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream("main"))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    streams = [Stream("a"), Stream("b"), Stream("left over")]
    with _SideBySide(torch.device("cuda"), streams) as lanes:
        for number in range(2):
            with lanes.lane(number):
                pass
    assert waits == [("a", "main"), ("b", "main"), ("main", "a"), ("main", "b")]


# Methods of others that learn or draw


class Momentum(Scaling):
    """A user's method with a running mean of the norms, a buffer ``[R, T]``, and a trained gain ``[R, 1]``."""

    learns = True

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", None)
        self.gain = nn.Parameter(torch.empty(0), requires_grad=False)
        self.register_buffer("steps", torch.zeros(()))  # of all replicas

    def weights(self, gram, /):
        norms = gram.diagonal(dim1=-2, dim2=-1).sqrt()
        if self.mean is None:
            self.mean = torch.zeros_like(norms)
            self.gain = nn.Parameter(torch.ones_like(norms[:, :1]), requires_grad=False)
        self.mean = torch.lerp(self.mean, norms, 0.1)
        self.gain.data = self.gain + norms.sum(-1, keepdim=True).log() / 10
        self.steps += 1
        return self.gain / (self.mean + self.steps)


class Rotating(Scaling):
    """A user's method whose state has its replicas in the second axis, and which says so."""

    learns = True

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.empty(0))

    def weights(self, gram, /):
        if not self.seen.numel():
            self.seen = gram.new_zeros(T, len(gram))
        self.seen = self.seen + gram.diagonal(dim1=-2, dim2=-1).mT
        return self.seen.mT.rsqrt()

    def keep_replicas(self, replicas, n, /):
        if self.seen.numel():
            self.seen = self.seen[:, replicas]


class Wrapped(Scaling):
    """A user's method around another one that learns."""

    learns = True

    def __init__(self):
        super().__init__()
        self.inner = GradNorm(reference_step=1)

    def weights(self, gram, /):
        return self.inner.weights(gram) ** 2


class Nested(Scaling):
    """A user's method that keeps what it learns in a module of its own."""

    learns = True

    def __init__(self):
        super().__init__()
        self.memory = nn.Module()
        self.memory.register_buffer("total", torch.zeros(0))

    def weights(self, gram, /):
        norms = gram.diagonal(dim1=-2, dim2=-1).sqrt()
        self.memory.total = self.memory.total + norms if self.memory.total.numel() else norms
        return 1 / self.memory.total


@pytest.mark.parametrize("learner", [Momentum, Rotating, Wrapped, Nested, GradNorm])
@pytest.mark.parametrize("kept", [[0], [4, 0], [5, 4, 3, 2, 1, 0], [2, 0, 5], [1, 3]])
def test_what_any_method_has_learnt_follows_its_replica(learner, kept):
    def stack():
        return PerReplica([learner(), IMTLG(), learner() >> IMTLG(), Sum(), learner(), MGDA()])

    whole, cut = stack(), stack()
    for step, (gradients, _) in enumerate(steps(8, 6)):
        expected = whole(gradients)
        if step < 4:
            cut(gradients)
            continue
        if step == 4:
            cut.keep(kept)
        assert_close(cut(gradients[kept]), expected[kept], 1e-12)


def test_replicas_can_be_cut_before_the_first_step():
    for learner in (Momentum, Rotating, Wrapped, Nested, GradNorm):
        cut = PerReplica([learner() for _ in range(4)])
        cut.keep([3, 1])
        gradients, _ = next(steps(1, 2))
        assert_close(cut(gradients), PerReplica([learner(), learner()])(gradients), 0.0)


def test_settings_are_not_taken_for_what_was_learnt():
    """GradDrop's leaks are one for each head; here there are as many replicas."""
    draws = Draws()
    cut = PerReplica([GradDrop([0.1, 0.2, 0.3, 0.4]) for _ in range(T)], draws=draws)
    gradients, numbers = next(steps(1, T))
    draws.numbers = numbers
    expected = cut(gradients)[[2, 0]]
    cut.keep([2, 0])
    draws.numbers = numbers[[2, 0]]
    assert_close(cut(gradients[[2, 0]]), expected, 0.0)


class Shuffled(Scaling):
    """A user's random method."""

    is_random = True

    def __init__(self, generator=None):
        super().__init__()
        self.generator = generator

    def weights(self, gram, /):
        return uniform(gram.shape[:-1], gram, self.generator)


def test_random_methods_of_others_take_the_numbers_of_their_replicas():
    draws = Draws()
    stack = PerReplica([IMTLG(), Shuffled(torch.Generator()), Sum(), Shuffled(torch.Generator())], draws=draws)
    gradients, draws.numbers = next(steps(1, 4))
    settled = stack(gradients)
    for r in (1, 3):
        assert_close(settled[r], draws.numbers[r, :T, None] * gradients[r], 1e-12)


def test_a_generator_of_a_method_that_does_not_ask_for_draws_is_left_alone():
    class Own(Shuffled):
        is_random = False

    draws = Draws()
    stack = PerReplica([Own(torch.Generator().manual_seed(seed)) for seed in (1, 2)], draws=draws)
    gradients, draws.numbers = next(steps(1, 2))
    settled = stack(gradients)
    for r, seed in enumerate((1, 2)):
        alone = Own(torch.Generator().manual_seed(seed))
        assert_close(settled[r], alone(gradients[r : r + 1])[0], 1e-12)


def test_methods_say_whether_they_are_random():
    for name, make in METHODS.items():
        assert make().is_random == (name in RANDOM), name
    assert (IMTLG() >> PCGrad()).is_random
    assert PerReplica([Sum(), PCGrad()]).is_random
    assert not PerReplica([Sum(), IMTLG()]).is_random
