"""A stack is R runs: it gives what each of them alone would give, and does what its options say."""

import copy
import math

import pytest
import torch

from evenhand.impartial import IMTLG, MGDA, CAGrad, GradDrop, GradNorm, PCGrad, Sum
from evenhand.tables.families import Latent
from evenhand.tables.kinds import TableLikelihood
from evenhand.tables.stack import Best, Run, Stack
from evenhand.tables.stack._noise import Draw, Noise

from .._inputs import SCHEMA, batch, build, garbled, parameters, rows_for, stack

RUNS = [
    Run(0, Sum()),
    Run(1, GradNorm(), lr=3e-3),
    Run(0, GradNorm(1.0, reference_step=5)),
    Run(2, MGDA(), kl_weight=0.5),
    Run(1, IMTLG(), lr=5e-4),
    Run(0, CAGrad()),
    Run(2, PCGrad(), lr=5e-4, kl_weight=2.0),
    Run(1, GradDrop()),
    Run(0, GradNorm() >> PCGrad()),
    Run(2, IMTLG() >> GradDrop(), kl_weight=0.1),
    Run(1, Sum(), lr=2e-3),
    Run(1, MGDA() >> PCGrad(), preserve_norm=False),
]
FEW = [RUNS[i] for i in (0, 8, 3, 9, 4)]
SETTINGS = [
    ("vae", "elbo", {"hide": 0.2, "kl_warm_up": 10, "decay": 40}, RUNS),
    ("vae", "elbo", {"analytic_kl": False, "n_samples": 2}, FEW),
    ("vae", "iwae", {"n_samples": 3}, RUNS),
    ("vae", "dreg", {"n_samples": 3}, RUNS),
    ("hivae", "elbo", {"hide": 0.1}, RUNS),
    ("hivae", "iwae", {"n_samples": 2}, FEW[:3]),
]
NAMES = ["-".join([m, o, *options]) for m, o, options, _ in SETTINGS]


def train_of(runs):
    """Other rows to train on for every seed."""
    seeds = list(dict.fromkeys(run.seed for run in runs))
    return torch.stack([(torch.arange(50) + 10 * seed) % 60 for seed in seeds])


def assert_equal_runs(whole, r, alone, tolerance=1e-9):
    for name, tensor in alone.state().items():
        if name != "temperature":
            torch.testing.assert_close(whole.state()[name][r], tensor[0], rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(whole.loss[r], alone.loss[0], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("model", "objective", "options", "runs"), SETTINGS, ids=NAMES)
def test_a_stack_is_its_runs(monkeypatch, model, objective, options, runs):
    monkeypatch.setattr("evenhand.tables.stack._noise.CHUNK", 8)  # several chunks in 30 steps
    whole = stack(runs, model, objective=objective, train=train_of(runs), **options)
    start = whole.state()
    whole.train(30)
    for r, run in enumerate(runs):
        alone = stack([run], model, objective=objective, train=train_of([run]), **options)
        alone.train(30)
        assert_equal_runs(whole, r, alone)
    moved = [(whole.state()[name] - start[name]).abs().flatten(1).amax(1) for name in parameters(whole)]
    assert (torch.stack(moved) > 1e-4).all()


def test_methods_and_settings_make_a_difference():
    """The comparison above would not be worth much if all runs were the same."""
    whole = stack([Run(0, run.method, run.lr, run.kl_weight, run.preserve_norm) for run in RUNS])
    whole.train(30)  # GradNorm learns slowly, and nothing before its reference step
    weights = torch.cat([p.detach().flatten(1) for p in whole.model.decoder.parameters()], -1)
    distances = torch.cdist(weights, weights) + torch.eye(len(RUNS))
    assert distances.min() > 1e-6


def test_the_order_of_replicas_does_not_matter():
    order = [4, 2, 0, 3, 1]
    one, other = (
        stack(FEW, train=train_of(FEW)),
        stack([FEW[i] for i in order], train=train_of([FEW[i] for i in order])),
    )
    one.train(10)
    other.train(10)
    for name, tensor in other.state().items():
        torch.testing.assert_close(tensor, one.state()[name][order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "kept"), [("vae", [5, 1, 8]), ("vae", [11]), ("vae", [2, 10, 9]), ("hivae", [5, 1, 8])]
)
def test_kept_runs_go_on_exactly(model, kept):
    options = {"train": train_of(RUNS), "decay": 100}
    whole, cut = stack(RUNS, model, **options), stack(RUNS, model, **options)
    whole.train(16)
    cut.train(8)
    cut.keep(kept)
    assert [run.seed for run in cut.runs] == [RUNS[r].seed for r in kept]
    cut.train(8)
    for name, tensor in cut.state().items():
        if name != "temperature":
            torch.testing.assert_close(tensor, whole.state()[name][kept], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(cut.loss, whole.loss[kept], rtol=1e-9, atol=1e-9)


def test_one_seed_and_one_method_are_one_run():
    whole = stack([Run(0, PCGrad()), Run(1, PCGrad()), Run(0, PCGrad())])
    whole.train(5)
    for tensor in parameters(whole).values():
        assert torch.equal(tensor[0], tensor[2])
    assert not torch.equal(whole.model.head.weight[0], whole.model.head.weight[1])


# Missing cells


@pytest.mark.parametrize(("model", "objective"), [(m, o) for m, o, *_ in SETTINGS if (m, o) != ("hivae", "iwae")])
@pytest.mark.parametrize("see_mask", [False, True])
def test_a_missing_cell_has_no_influence(model, objective, see_mask):
    clean, _ = batch(positive="log1p" if model == "hivae" else "log")
    runs = [Run(0, Sum()), Run(1, IMTLG() >> PCGrad()), Run(0, GradDrop())]
    stacks = [
        stack(runs, model, data, objective=objective, n_samples=2, hide=0.1, rows_options={"see_mask": see_mask})
        for data in (clean, garbled(clean))
    ]
    assert not torch.equal(stacks[0].rows.record, stacks[1].rows.record)
    for _ in range(3):
        for one in stacks:
            one.train(1)
        assert torch.equal(stacks[0].loss, stacks[1].loss)
        for (name, a), b in zip(stacks[0].model.named_parameters(), stacks[1].model.parameters(), strict=True):
            assert torch.equal(a.grad, b.grad), name
            assert torch.equal(a, b), name
    assert all(torch.equal(t, stacks[1].state()[name]) for name, t in stacks[0].state().items())


@pytest.mark.parametrize("model", ["vae", "hivae", "vaem"])
@pytest.mark.parametrize("column", range(len(SCHEMA)))
def test_a_hidden_cell_is_scored_and_not_seen(model, column):
    training = stack([Run(0, Sum())], model, batch(missing=0.0, positive="log1p" if model == "hivae" else "log")[0])
    training.model.eval()  # statistics of a batch are not the cell's own
    heads = training.model.likelihood
    inner = heads.order.index(column)
    visible = torch.ones(1, 4, heads.n)
    visible[0, 2, inner] = 0
    noise = torch.randn(1, 1, 4, training.model.n_latent + getattr(training.model, "n_components", 0))
    seen, infer = [], training.model.infer
    training.model.infer = lambda inputs, *a, **k: seen.append(inputs) or infer(inputs, *a, **k)
    data, _ = batch(missing=0.0, positive="log1p" if model == "hivae" else "log")

    def loss(value, hidden=True):
        values = data.values[:4].clone()
        values[2, column] = value
        record = rows_for(model, type(data)(values, data.mask[:4]), heads).record.unsqueeze(0)
        draw = Draw(torch.arange(4).unsqueeze(0), noise, None, visible if hidden else None, None)
        return training._loss_of(record, draw, training.kl_weights).item()

    assert loss(0.0) != loss(1.0)
    assert torch.equal(seen[0], seen[1])
    assert loss(0.0, hidden=False) != loss(1.0, hidden=False)
    assert not torch.equal(seen[2], seen[3])


# The step by hand


@pytest.mark.parametrize("objective", ["elbo", "sampled", "iwae", "dreg"])
def test_a_step_is_adam_on_the_bound(objective):
    options = {"n_samples": 3, "dropout": 0.1, "hide": 0.2, "batch_size": 16}
    run = Run(5, Sum(), lr=2e-3, kl_weight=0.7)
    name = "elbo" if objective == "sampled" else objective
    training = stack([run], objective=name, analytic_kl=objective == "elbo", **options)
    model = copy.deepcopy(training.model).train()
    rows = training.rows
    noise = Noise(
        [5], torch.arange(60).unsqueeze(0), batch_size=16, shape=(3, 2), n_inputs=rows.n_inputs,
        n_columns=len(SCHEMA), n_uniform=training.noise._n_uniform, dropout=0.1, hide=0.2,
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(4):
        noise.prepare()
        draw = noise.look()
        noise.advance()
        inputs, targets, mask = rows.split(rows.record[draw.rows[0]].unsqueeze(0))
        seen = inputs * (mask * draw.visible)[..., rows.owners] * draw.keep
        latent = model.infer(seen, draw.normal)
        log_p = (model.log_prob(model.decode(latent), targets) * mask.unsqueeze(1)).sum(-1)
        rate = latent.log_q - latent.log_prior
        bound = {
            "elbo": lambda p=log_p, q=latent: p.mean(1) - 0.7 * q.kl,
            "sampled": lambda p=log_p, q=rate: (p - 0.7 * q).mean(1),
            "iwae": lambda p=log_p, q=rate: (p - 0.7 * q).exp().mean(1).log(),
            "dreg": lambda i=seen, d=draw, t=targets, m=mask: dreg_by_hand(model, i, d, t, m, 0.7),
        }[objective]()
        loss = -bound.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        training.train(1)
        torch.testing.assert_close(training.loss, loss.detach().view(1))
        for a, b in zip(training.model.parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_a_step_of_hivae_by_hand():
    """Numbers are normalised by the batch, and parameters carried back by the same statistics."""
    training = stack([Run(5, Sum(), kl_weight=0.7)], "hivae", batch_size=8)
    model, rows = copy.deepcopy(training.model).train(), training.rows
    noise = Noise(
        [5], torch.arange(60).unsqueeze(0), batch_size=8, shape=(1, 6), n_inputs=rows.n_inputs,
        n_columns=len(SCHEMA), n_uniform=training.noise._n_uniform,
    )  # fmt: skip
    noise.prepare()
    draw = noise.look()
    inputs, targets, mask = (t.clone() for t in rows.split(rows.record[draw.rows[0]].unsqueeze(0)))
    numbers = model.likelihood.n_normalised
    centre, spread = torch.zeros(1, 1, numbers), torch.ones(1, 1, numbers)
    for i in range(numbers):
        seen = targets[0, mask[0, :, i] == 1, i]
        centre[..., i], spread[..., i] = seen.mean(), seen.std(correction=0)
        inputs[..., i] = (inputs[..., i] - seen.mean()) / seen.std(correction=0)
    assert (centre.abs() > 0.01).all()
    latent = model.infer(inputs * mask[..., rows.owners], draw.normal)
    eta = model.natural(model.decode(latent), (centre, spread))
    log_p = (model.likelihood.log_prob(eta, targets.unsqueeze(1), natural=True) * mask.unsqueeze(1)).sum(-1)
    training.train(1)
    torch.testing.assert_close(training.loss, -(log_p[:, 0] - 0.7 * latent.kl).mean(-1).detach())


def dreg_by_hand(model, seen, draw, targets, mask, kl_weight):
    """DReG's two parts with torch's densities and a copy of the model in place of a frozen decoder."""
    mean, scale = (t.unsqueeze(1) for t in model.encode(seen))
    z = mean + scale * draw.normal
    q, prior = torch.distributions.Normal(mean.detach(), scale.detach()), torch.distributions.Normal(0.0, 1.0)

    def log_likelihood(decoder, z):
        return (decoder.log_prob(decoder.decode(Latent(z, z, z, z)), targets) * mask.unsqueeze(1)).sum(-1)

    log_w = log_likelihood(copy.deepcopy(model), z) - kl_weight * (q.log_prob(z) - prior.log_prob(z)).sum(-1)
    share = log_w.detach().softmax(1)
    return (share**2 * log_w).sum(1) + (share * log_likelihood(model, z.detach())).sum(1)


# Options


def test_hivae_refuses_dreg():
    with pytest.raises(ValueError, match="objective should be one of 'elbo', 'iwae' with model='hivae'"):
        stack([Run(0, Sum())], "hivae", objective="dreg")


OPTIONS = {
    "dropout": {"dropout": 0.5},
    "hide": {"hide": 0.5},
    "kl_warm_up": {"kl_warm_up": 10},
    "decay": {"decay": 6},
    "analytic_kl": {"analytic_kl": False},
    "batch_size": {"batch_size": 8},
    "n_samples": {"n_samples": 2},
    "objective": {"objective": "iwae", "n_samples": 2},
}


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_changes_something(option):
    plain, other = stack(FEW), stack(FEW, **OPTIONS[option])
    plain.train(5)
    other.train(5)
    for r in range(len(FEW)):
        assert not torch.equal(plain.model.head.weight[r], other.model.head.weight[r])


def test_the_kl_weight_rises_over_its_warm_up():
    weights = []
    training = stack([Run(0, Sum(), kl_weight=2.0), Run(1, Sum())], kl_warm_up=4)
    loss = training._loss
    training._loss = lambda w: weights.append(w.tolist()) or loss(w)
    training.train(6)
    assert weights == [[0.5, 0.25], [1.0, 0.5], [1.5, 0.75], [2.0, 1.0], [2.0, 1.0], [2.0, 1.0]]


def test_the_loss_is_linear_in_the_kl_weight():
    training = stack([Run(0, Sum(), kl_weight=weight) for weight in (0.0, 1.0, 3.0)])
    training.train(1)
    rate = training.loss[1] - training.loss[0]
    assert rate > 0.01
    assert (training.loss[2] - training.loss[0]).item() == pytest.approx(3 * rate.item())


def test_learning_rates_fall_to_zero_along_half_a_cosine():
    runs = [Run(0, Sum(), lr=2e-3), Run(0, Sum(), lr=1e-3)]
    training = stack(runs, decay=5)
    for step in range(5):
        training.train(1)
        assert training.lr.item() == pytest.approx(1e-3 * (1 + math.cos(math.pi * step / 5)))
    before = parameters(training)
    training.train(3)
    for name, tensor in parameters(training).items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [Sum(), IMTLG()])
def test_learning_rates_are_those_of_the_runs(method):
    """Adam's first step has the length of the learning rate."""
    runs = [Run(0, method, lr=lr) for lr in (1e-3, 4e-3, 1e-4)]
    training = stack(runs)
    before = parameters(training)
    training.train(1)
    for name, tensor in parameters(training).items():
        steps = (tensor - before[name]).abs().flatten(1).amax(1)
        assert steps.tolist() == pytest.approx([1e-3, 4e-3, 1e-4], rel=1e-3), name


def test_preserving_the_norm():
    """The gradient that reaches the decoder is as long as the plain one, or not."""
    runs = [Run(0, Sum()), Run(0, MGDA()), Run(0, MGDA(), preserve_norm=False), Run(0, Sum(), preserve_norm=False)]
    training = stack(runs)
    lengths = []
    training.model.decoder.register_full_backward_hook(lambda m, i, o: lengths.append(o[0].flatten(1).norm(dim=1)))
    training.train(1)
    (found,) = lengths
    assert found[1].item() == pytest.approx(found[0].item())
    assert found[3].item() == pytest.approx(found[0].item())
    assert found[2] < 0.9 * found[0]


def test_ordinary_training_needs_no_block():
    assert stack([Run(0, Sum()), Run(1, Sum())]).blocks == []
    assert len(stack([Run(0, Sum()), Run(1, IMTLG())]).blocks) == 1
    assert len(stack([Run(0, Sum()), Run(1, IMTLG())], objective="dreg").blocks) == 2
    assert len(stack([Run(0, Sum()), Run(1, IMTLG())], "hivae").blocks) == 2


def test_training_lowers_the_loss():
    for model in ("vae", "hivae"):
        training = stack([Run(0, GradNorm() >> PCGrad(), lr=1e-2), Run(1, Sum(), lr=1e-2)], model)
        training.train(1)
        first = training.loss.clone()
        training.train(100)
        assert (training.loss < first - 2).all()


def test_splits_train_on_their_own_rows():
    """Rows that are not in the training rows of a seed change nothing for it."""
    data, fitted = batch()
    heads = TableLikelihood(SCHEMA, [fitted])
    other = type(data)(data.values.clone(), data.mask)
    other.values[50:] = other.values[50:].flip(0)
    found = []
    for table in (data, other):
        rows = rows_for("vae", table, heads)
        train = torch.stack([torch.arange(40), torch.arange(20, 60)])
        runs = [Run(0, Sum()), Run(1, Sum())]
        training = Stack(build("vae", rows, heads, [0, 1]), runs, rows, train, batch_size=16)
        training.train(5)
        found.append(training.model.head.weight.detach())
    assert torch.equal(found[0][0], found[1][0])
    assert not torch.equal(found[0][1], found[1][1])


# The best weights


@pytest.mark.parametrize("model", ["vae", "hivae", "vaem"])
def test_best_remembers_every_replica(model):
    training = stack([Run(seed, Sum()) for seed in range(3)], model)
    best = Best(training)
    nan, inf = math.nan, math.inf
    scores = [[3.0, 1.0, nan], [2.0, 2.0, inf], [2.0, 0.5, nan], [4.0, 0.7, 9.0]]
    better = [[True, True, False], [True, False, False], [False, True, False], [False, False, True]]
    states = []
    for offered, expected in zip(scores, better, strict=True):
        training.train(1)
        states.append(training.state())
        assert best.offer(torch.tensor(offered)).tolist() == expected
    assert best.scores.tolist() == [2.0, 0.5, 9.0]
    assert best.steps.tolist() == [2, 3, 4]
    training.train(2)
    best.restore()
    for name, tensor in training.state().items():
        if name != "temperature":
            for r, step in enumerate((1, 2, 3)):
                assert torch.equal(tensor[r], states[step][name][r]), name


def test_best_goes_on_with_some_replicas():
    training = stack([Run(seed, Sum()) for seed in range(3)])
    best = Best(training)
    training.train(1)
    best.offer(torch.tensor([1.0, 2.0, 3.0]))
    state = training.state()
    training.keep([2, 0])
    best.keep([2, 0])
    training.train(1)
    assert best.offer(torch.tensor([4.0, 0.0])).tolist() == [False, True]
    now = training.state()
    best.restore()
    for name, tensor in training.state().items():
        assert torch.equal(tensor[0], state[name][2])
        assert torch.equal(tensor[1], now[name][1])


def test_steps_go_through_the_recorder_where_there_is_one():
    """On a GPU a `CapturedStep` takes the steps; random numbers are drawn outside of it."""
    plain, recorded = (stack([Run(0, IMTLG()), Run(1, Sum())], hide=0.2) for _ in range(2))
    calls = []

    def recorder():
        calls.append(recorded.noise.step)
        recorded._step()

    recorded._captured = recorder
    plain.train(70)  # more than a chunk of noise
    recorded.train(70)
    assert calls == list(range(1, 71))
    assert_same(parameters(plain), parameters(recorded))


def assert_same(first, second):
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
