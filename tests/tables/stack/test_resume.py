"""A training that was stopped goes on with exactly the same numbers."""

import io
from types import SimpleNamespace

import pytest
import torch

from evenhand.impartial import IMTLG, MGDA, CAGrad, GradDrop, GradNorm, PCGrad, Sum
from evenhand.tables.stack import Best, Run
from evenhand.tables.stack._noise import Noise

from .._inputs import stack

RUNS = [
    Run(0, Sum()),
    Run(1, GradNorm(), lr=3e-3),
    Run(0, GradNorm(1.0, reference_step=3)),
    Run(2, MGDA(), kl_weight=0.5),
    Run(1, IMTLG(), lr=5e-4),
    Run(2, PCGrad(), kl_weight=2.0),
    Run(1, GradDrop(), preserve_norm=False),
    Run(0, GradNorm() >> PCGrad()),
    Run(2, IMTLG() >> GradDrop(), kl_weight=0.1),
    Run(0, GradNorm(), preserve_norm=False),
    Run(1, CAGrad() >> GradNorm()),
    Run(1, Sum(), lr=2e-3),
]
FEW = [RUNS[r] for r in (0, 1, 4, 5, 7)]
SETTINGS = [
    ("vae", {"hide": 0.2, "kl_warm_up": 10, "decay": 40}),
    ("vae", {"objective": "iwae", "n_samples": 3}),
    ("vae", {"objective": "dreg", "n_samples": 2}),
    ("hivae", {"hide": 0.1}),
]
NAMES = [f"{model}-{options.get('objective', 'elbo')}" for model, options in SETTINGS]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr("evenhand.tables.stack._noise.CHUNK", 4)  # epochs have 3 steps


def build(runs=RUNS, model="vae", **options):
    """A stack and its best weights; every seed trains on other rows."""
    seeds = list(dict.fromkeys(run.seed for run in runs))
    train = torch.stack([(torch.arange(50) + 10 * seed) % 60 for seed in seeds])
    training = stack(runs, model, train=train, **options)
    return training, Best(training)


def go_on(training, best, steps):
    for _ in range(steps):
        training.train(1)
        best.offer(training.loss)


def load(training, states):
    for part, state in zip(training, states, strict=True):
        part.load_state_dict(state)


def through_a_file(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def size(state):
    file = io.BytesIO()
    torch.save(state, file)
    return file.tell()


def assert_same(a, b, where="state"):
    """Equal to the bit."""
    assert type(a) is type(b), where
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype, where
        assert torch.equal(a, b), where
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    else:
        assert a == b, where


def assert_same_training(one, other):
    for a, b in zip(one, other, strict=True):
        assert_same(a.state_dict(), b.state_dict(), type(a).__name__)


STOPS = (0, 2, 3, 4, 12)  # start, midst of an epoch and of a chunk, end of an epoch, of a chunk, of both


@pytest.mark.parametrize(("model", "options"), SETTINGS, ids=NAMES)
def test_a_training_goes_on_exactly(model, options):
    straight = build(model=model, **options)
    files, expected = {}, {}
    for step in range(STOPS[-1] + 6):
        if step in STOPS:  # saving does not disturb it
            files[step] = [through_a_file(part.state_dict()) for part in straight]
        go_on(*straight, 1)
        expected[step + 1] = [part.state_dict() for part in straight]
    for step, states in files.items():
        resumed = build(model=model, **options)
        load(resumed, states)
        assert_same([part.state_dict() for part in resumed], states)
        go_on(*resumed, 6)
        assert_same([part.state_dict() for part in resumed], expected[step + 6])


def test_saving_does_not_disturb():
    saved, other = build(FEW), build(FEW)
    for _ in range(7):
        go_on(*saved, 1)
        saved[0].state_dict()
    go_on(*other, 7)
    assert_same_training(saved, other)


def test_what_is_compared_is_not_constant():
    """The comparison above would not be worth much if states did not change."""
    training, best = build(decay=40)
    go_on(training, best, 1)
    before = [training.state_dict(), best.state_dict()]
    go_on(training, best, 10)
    for name in ("model", "moments", "blocks", "noise", "steps", "lr", "loss"):
        with pytest.raises(AssertionError):
            assert_same(training.state_dict()[name], before[0][name])
    for name in ("weights", "scores", "steps"):
        with pytest.raises(AssertionError):
            assert_same(best.state_dict()[name], before[1][name])


def test_stopping_after_every_step():
    straight, old = build(FEW), build(FEW)
    go_on(*straight, 13)
    for _ in range(13):
        new = build(FEW)
        load(new, [through_a_file(part.state_dict()) for part in old])
        go_on(*new, 1)
        old = new
    assert_same_training(old, straight)


@pytest.mark.parametrize(("back_to", "ahead"), [(0, 5), (2, 3), (4, 10)])
def test_a_training_goes_back(back_to, ahead):
    """A state is a copy, and it can be loaded into a stack that has been elsewhere since."""
    straight, training = build(FEW), build(FEW)
    go_on(*straight, back_to + 7)
    go_on(*training, back_to)
    states = [part.state_dict() for part in training]
    go_on(*training, ahead)
    load(training, states)
    go_on(*training, 7)
    assert_same_training(training, straight)


def test_what_is_loaded_is_a_copy():
    one, other = build(FEW), build(FEW)
    go_on(*one, 5)
    states = [part.state_dict() for part in one]
    copies = [through_a_file(state) for state in states]
    load(other, states)
    go_on(*other, 10)
    assert_same(states, copies)


def test_memory_that_a_captured_step_reads_stays_in_place():
    training, best = build(FEW)
    go_on(training, best, 5)
    state = training.state_dict()
    go_on(training, best, 6)
    read = [*training.model.parameters(), *training.model.buffers(), *training.noise._chunk.values()]
    read += [training.noise._cursors, training.steps, training.lr, training.loss]
    addresses = [tensor.data_ptr() for tensor in read]
    forgotten = []
    training._captured = SimpleNamespace(forget=lambda: forgotten.append(True))
    training.load_state_dict(state)
    assert [tensor.data_ptr() for tensor in read] == addresses
    assert training.optimizer.param_groups[0]["lr"] is training.lr
    assert forgotten  # the rest has moved
    training.keep([0])
    assert len(forgotten) == 2


def test_drawn_numbers_are_not_saved():
    sizes = []
    for n_samples in (1, 40):
        training, _ = build(FEW, objective="iwae", n_samples=n_samples)
        training.train(2)
        sizes.append(size(training.state_dict()))
    drawn = sum(chunk.nbytes for chunk in training.noise._chunk.values())
    assert drawn > sizes[0]
    assert sizes[1] == pytest.approx(sizes[0], abs=64)


# Fewer replicas


@pytest.mark.parametrize("kept", [[7, 1, 5], [2], [10, 9, 1, 7], [11, 0], [6, 8]])
@pytest.mark.parametrize("model", ["vae", "hivae", "vaem"])
def test_kept_runs_go_on_in_a_stack_of_their_own(model, kept):
    cut, alone = build(model=model, decay=40), build([RUNS[r] for r in kept], model, decay=40)
    go_on(*cut, 3)
    for part in cut:
        part.keep(kept)
    go_on(*cut, 2)
    load(alone, [through_a_file(part.state_dict()) for part in cut])
    go_on(*cut, 6)
    go_on(*alone, 6)
    assert torch.equal(alone[0].loss, cut[0].loss)
    assert_same(alone[0].state(), cut[0].state())
    assert_same(alone[1].state_dict(), cut[1].state_dict())


# Noise on its own


def noise(seeds=(4, 9, 4), n=20, **options):
    rows = torch.stack([1000 * seed + torch.arange(n) for seed in dict.fromkeys(seeds)])
    settings = {"batch_size": 6, "shape": (2, 3), "n_uniform": 7, "dropout": 0.1, "hide": 0.2, **options}
    return Noise(seeds, rows, n_inputs=5, n_columns=3, **settings)


def draws(source, steps):
    for _ in range(steps):
        source.prepare()
        yield [x.clone() for x in vars(source.look()).values()]
        source.advance()


@pytest.mark.parametrize("n", range(13))
def test_the_very_next_numbers(n):
    one, other = noise(), noise()
    list(draws(one, n))
    list(draws(other, 5))  # it has been elsewhere
    other.load_state_dict(through_a_file(one.state_dict()))
    assert_same(list(draws(other, 20)), list(draws(one, 20)))


def test_a_source_with_fewer_seeds():
    many, few = noise((4, 9, 2)), noise((2, 4))
    list(draws(many, 5))
    few.load_state_dict(many.state_dict())
    for found, whole in zip(draws(few, 20), draws(many, 20), strict=True):
        assert_same(found, [x[[2, 0]] for x in whole])


def test_states_of_generators_may_share_memory():
    one, other = noise(), noise()
    state = one.state_dict()
    other.load_state_dict({**state, **{name: list(torch.stack(state[name])) for name in ("orders", "streams")}})
    assert_same(list(draws(other, 5)), list(draws(one, 5)))


# States of others


def with_run(r, **changes):
    run = {"seed": RUNS[r].seed, "method": RUNS[r].method, **changes}
    return [*RUNS[:r], Run(**run), *RUNS[r + 1 :]]


OTHERS = {
    "fewer runs": ({"runs": RUNS[:3]}, "runs should be 12, as many as the state is of. Found 3"),
    "another seed": ({"runs": with_run(3, seed=1, kl_weight=0.5)}, r"runs\[3\] should be .*'seed': 2"),
    "another method": ({"runs": with_run(0, method=MGDA())}, r"runs\[0\] should be .*Sum.*Found .*MGDA"),
    "another lr": ({"runs": with_run(0, lr=1.0)}, r"runs\[0\] should be .*'lr': 0.001.* Found .*'lr': 1.0"),
    "another objective": ({"objective": "iwae"}, "objective should be 'elbo'.* Found 'iwae'"),
    "another decay": ({"decay": 7}, "decay should be 0.* Found 7"),
    "another batch size": ({"batch_size": 8}, "batch_size should be 16.* Found 8"),
    "another dropout": ({"dropout": 0.5}, "dropout should be 0.1.* Found 0.5"),
    "another model": ({"model": "hivae"}, "heads should be|of the state should be missing"),
    "other inputs": ({"rows_options": {"see_mask": True}}, r"weight of the state should be \[12, .*\] of .* Found"),
}


@pytest.mark.parametrize("difference", OTHERS)
def test_a_state_of_another_stack_is_refused(difference):
    options, message = OTHERS[difference]
    one, other = build(), build(**options)
    go_on(*other, 2)
    before = other[0].state_dict()
    with pytest.raises(ValueError, match=message):
        other[0].load_state_dict(one[0].state_dict())
    assert_same(other[0].state_dict(), before)


@pytest.mark.parametrize("options", [{"runs": RUNS[:3]}, {"model": "hivae"}])
def test_the_best_of_another_stack_is_refused(options):
    one, other = build(), build(**options)
    go_on(*other, 1)
    before = other[1].state_dict()
    with pytest.raises(ValueError, match="of the state should be .* Found"):
        other[1].load_state_dict(one[1].state_dict())
    assert_same(other[1].state_dict(), before)


@pytest.mark.parametrize("state", [{}, {"model": {}}, [], None])
def test_what_is_no_state_is_refused(state):
    for part, name in zip(build(RUNS[:2]), ("Stack", "Best"), strict=True):
        with pytest.raises(ValueError, match=rf"state should be what {name}.state_dict\(\) gives"):
            part.load_state_dict(state)


def test_numbers_of_other_seeds_are_refused():
    with pytest.raises(ValueError, match=r"seeds should be among \[4, 9\].* Found \[5\]"):
        noise((4, 5)).load_state_dict(noise().state_dict())


def test_numbers_of_another_type_of_device_are_refused():
    state = noise().state_dict()
    state["streams"] = [stream[:16] for stream in state["streams"]]  # as long as on a GPU
    with pytest.raises(ValueError, match="Found others than those of cpu"):
        noise().load_state_dict(state)
