"""Rates that are held: they arrive, whatever is trained, and disturb nobody."""

import pytest
import torch

from evenhand.common import ArgumentError
from evenhand.impartial import IMTLG, GradNorm, PCGrad, Sum
from evenhand.tables.families import HIVAE, VAE
from evenhand.tables.inference import rates_and_bounds
from evenhand.tables.kinds import TableLikelihood
from evenhand.tables.stack import Best, Run, Stack

from .._inputs import SCHEMA, batch, parameters, rows_for, stack
from .test_resume import assert_same, through_a_file

HELD = [(Sum(), 2), (Sum(), 4), (IMTLG() >> PCGrad(), 3), (GradNorm(), 2)]
SETTINGS = [
    ("vae", {"objective": "elbo"}),
    ("vae", {"objective": "elbo", "analytic_kl": False, "dropout": 0.1, "hide": 0.2}),
    ("vae", {"objective": "iwae", "n_samples": 3}),
    ("vae", {"objective": "dreg", "n_samples": 3}),
    ("hivae", {"objective": "elbo"}),
]
NAMES = ["-".join([m, *map(str, options.values())]) for m, options in SETTINGS]


def large_enough(runs, model, **options):
    """A stack whose latent variables can take a few nats: that of this folder takes 1.3."""
    data, fitted = batch(200, missing=0.0, positive="log1p" if model == "hivae" else "log")
    heads, seeds = TableLikelihood(SCHEMA, [fitted]), [run.seed for run in runs]
    rows = rows_for(model, data, heads)
    if model == "hivae":
        network = HIVAE(rows.n_inputs, heads, seeds=seeds, n_latent=4, n_components=3, n_y=4)
    else:
        network = VAE(rows.n_inputs, heads, seeds=seeds, n_latent=4, n_hidden=24, n_layers=2)
    return Stack(network, runs, rows, torch.arange(200)[None], batch_size=50, **options)


def measured(training):
    index = torch.arange(len(training.rows)).expand(len(training.runs), -1)
    return rates_and_bounds(training.model, training.rows, index, generator=torch.Generator().manual_seed(0))[0].mean(
        -1
    )


@pytest.mark.parametrize(("model", "options"), SETTINGS, ids=NAMES)
def test_the_rate_arrives(model, options):
    """Of the rows in the mode in which users read it, at the checkpoint that is chosen."""
    runs = [Run(0, method, 3e-3, f"rate:{rate}") for method, rate in HELD]
    training = large_enough(runs, model, **{"dropout": 0.0, **options})
    best = Best(training)
    for _ in range(26):
        training.train(50)
        best.offer(training.loss, training.calibrate(measured(training)))
    assert best.off.tolist() == [0.0] * len(runs)
    best.restore()
    assert measured(training).tolist() == pytest.approx([rate for _, rate in HELD], rel=0.0301)
    assert len(set(training.control.weights().tolist())) == len(runs)


def test_a_rate_out_of_reach():
    """Two latent variables behind six units that are dead take no more, whatever the weight."""
    training = stack([Run(0, Sum(), 3e-3, "rate:4")], dropout=0.0)
    best = Best(training)
    for _ in range(12):
        training.train(60)
        best.offer(training.loss, training.calibrate(measured(training)))
    assert float(best.off) > 0.5
    assert float(training.control.weights()) < 1e-5
    assert torch.isfinite(best.scores).all()  # there are weights all the same


def test_fixed_neighbours_are_as_without():
    """Bit for bit."""
    runs = [Run(0, Sum()), Run(1, IMTLG(), kl_weight=0.3)]
    mixed, alone = stack([*runs, Run(0, Sum(), kl_weight="rate:3")]), stack(runs)
    assert alone.control is None
    for training in (mixed, alone):
        training.train(20)
    for name in parameters(alone):
        assert torch.equal(mixed.state()[name][:2], alone.state()[name])
    assert not torch.equal(mixed.state()["head.weight"][2], alone.state()["head.weight"][0])


def test_held_runs_do_not_depend_on_neighbours():
    runs = [Run(0, Sum(), kl_weight="rate:3"), Run(1, GradNorm(), kl_weight="rate:5"), Run(0, Sum())]
    whole, alone = stack(runs), stack(runs[1:2])
    for training in (whole, alone):
        for _ in range(4):
            training.train(5)
            training.calibrate(measured(training))
    for name in parameters(alone):
        torch.testing.assert_close(whole.state()[name][1], alone.state()[name][0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("model", "options"), SETTINGS, ids=NAMES)
def test_it_goes_on_exactly(model, options):
    runs = [Run(0, Sum(), kl_weight="rate:3"), Run(1, IMTLG()), Run(1, GradNorm(), kl_weight="rate:0.5")]

    def build():
        training = stack(runs, model, **options)
        return training, Best(training)

    def go_on(training, best):
        for _ in range(3):
            training.train(2)
            best.offer(training.loss, training.calibrate(measured(training)))

    straight, resumed = build(), build()
    go_on(*straight)
    for part, other in zip(resumed, straight, strict=True):
        part.load_state_dict(through_a_file(other.state_dict()))
    for pair in (straight, resumed):
        go_on(*pair)
    for part, other in zip(resumed, straight, strict=True):
        assert_same(part.state_dict(), other.state_dict())
    assert float(straight[0].control.log_weights[0]) != 0


def test_kept_runs_go_on_exactly():
    runs = [Run(0, Sum(), kl_weight="rate:3"), Run(1, IMTLG()), Run(1, GradNorm(), kl_weight="rate:5")]
    whole, cut, fixed = stack(runs), stack(runs), stack(runs)
    for training in (whole, cut, fixed):
        training.train(6)
        training.calibrate(measured(training))
    cut.keep([2, 1])
    fixed.keep([1])
    assert fixed.control is None
    for training in (whole, cut, fixed):
        training.train(6)
    for name, tensor in whole.state().items():
        torch.testing.assert_close(cut.state()[name], tensor[[2, 1]], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(fixed.state()[name], tensor[[1]], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(cut.control.weights(), whole.control.weights()[[2, 1]])


def test_states_of_before_are_read():
    """Of versions without rates to hold."""
    training, other = stack([Run(0, Sum())]), stack([Run(0, Sum())])
    training.train(3)
    state, best = training.state_dict(), Best(training).state_dict()
    del state["control"], best["off"]
    other.load_state_dict(state)
    Best(other).load_state_dict(best)
    assert_same(other.state_dict(), training.state_dict())


def test_nearer_weights_come_first():
    training = stack([Run(0, Sum(), kl_weight="rate:10")])
    best = Best(training)
    for score, rate in ((0.1, 20.0), (0.9, 11.0), (0.5, 10.2), (0.6, 10.0), (0.2, 12.0), (0.4, 9.9)):
        best.offer(torch.tensor([score]), training.control.off(torch.tensor([rate])))
        if rate == 11.0:
            assert best.scores.tolist() == [0.9]
    assert best.scores.tolist() == pytest.approx([0.4])
    assert not best.offer(torch.tensor([torch.nan]), torch.zeros(1))


@pytest.mark.parametrize("weight", ["much", "rate:0", -1.0])
def test_weights_that_are_none(weight):
    with pytest.raises(ArgumentError, match="kl_weight should be"):
        stack([Run(0, Sum(), kl_weight=weight)])


def test_no_warm_up_of_a_held_rate():
    with pytest.raises(ArgumentError, match="kl_warm_up should be 0"):
        stack([Run(0, Sum(), kl_weight="rate:3")], kl_warm_up=5)
