"""VAEM: two stages, a bound by hand, codes of visible cells, and blocks where the second stage's heads meet."""

import pytest
import torch
from torch import distributions as td

from evenhand.impartial import IMTLG, MGDA, PCGrad, Sum
from evenhand.tables.families import VAEM, Latent, Sizes
from evenhand.tables.inference import (
    encode,
    expectations,
    head_gradients,
    log_likelihood,
    rates_and_bounds,
    reconstruct,
    rows_from_codes,
    rows_from_prior,
)
from evenhand.tables.stack import Preparation, Run, Stack

from .._inputs import SCHEMA, garbled, table

SMALL = Sizes(n_latent=3, n_hidden=12, n_layers=2)
D = len(SCHEMA.columns)


@pytest.fixture
def soon(monkeypatch):
    """A first stage of four steps."""
    monkeypatch.setattr("evenhand.tables.families._vaem._vaem.MARGINAL_STEPS", 4)


def stack_of(runs, *, hide=0.3, steps=0, n=200, sizes=SMALL, change=lambda batch: batch, **options):
    raw = table(n)
    preparation = Preparation.fit(VAEM, raw, SCHEMA, [range(n)], [0])
    rows = preparation.rows(change(preparation.encode(raw)))
    network = preparation.network(rows.n_inputs, [run.seed for run in runs], sizes=sizes)
    train = torch.arange(len(rows)).expand(len({run.seed for run in runs}), -1)
    stack = Stack(network, runs, rows, train, batch_size=50, dropout=0.0, hide=hide, **options)
    stack.train(steps)
    return stack


def seen_by(stack, n=20):
    inputs, targets, mask = stack.rows.split(stack.rows.record[:n])
    seen = stack.rows.seen(inputs, mask)
    return seen.expand(len(stack.runs), -1, -1), targets.expand(len(stack.runs), -1, -1), mask


def noise_for(model, k=1, n=20):
    return torch.randn(1, k, n, model.n_noise, generator=torch.Generator().manual_seed(1))


# Stages


@pytest.mark.usefixtures("soon")
def test_the_first_stage_ends_and_the_second_goes_on():
    stack = stack_of([Run(0, Sum())], steps=4)
    assert all((p.grad != 0).any() for p in stack.model.parameters())
    stack.train(1)
    for name, p in stack.model.named_parameters():
        assert bool((p.grad != 0).any()) != name.startswith("marginals."), name


def test_the_first_stage_never_learns_from_the_second():
    one, other = stack_of([Run(0, Sum())]), stack_of([Run(0, Sum())])
    with torch.no_grad():
        for name, p in other.model.named_parameters():
            if not name.startswith("marginals."):
                p.mul_(1.5)
    for stack in (one, other):
        stack.train(5)
    assert not torch.equal(one.model.head.bias, other.model.head.bias)
    for name, p in one.model.marginals.named_parameters():
        assert torch.equal(p, dict(other.model.marginals.named_parameters())[name]), name


@pytest.mark.usefixtures("soon")
def test_the_first_stage_stands_still_when_its_momentum_is_spent():
    stack = stack_of([Run(0, Sum())], steps=204)
    before = {name: p.clone() for name, p in stack.model.marginals.named_parameters()}
    stack.train(5)
    for name, p in stack.model.marginals.named_parameters():
        torch.testing.assert_close(p, before[name], rtol=0, atol=1e-9)


def test_columns_of_the_first_stage_share_nothing():
    stack = stack_of([Run(0, Sum())])
    seen, _, _ = seen_by(stack)
    model = stack.model
    cells = seen[..., :-D].clone().requires_grad_()
    mean, scale = model.marginals.encode(cells)
    owners = torch.tensor(model.likelihood.owners_of_targets)
    for d in range(D):
        (slope,) = torch.autograd.grad((mean + scale)[..., d].sum(), cells, retain_graph=True)
        assert set(owners[(slope[0] != 0).any(0)].tolist()) == {d}
    codes = torch.randn(1, 20, D).requires_grad_()
    raw = model.marginals.decode(codes)
    for d in range(D):
        (slope,) = torch.autograd.grad(raw[..., model.likelihood.heads == d].sum(), codes, retain_graph=True)
        assert (slope[0] != 0).any(0).nonzero().flatten().tolist() == [d]


def test_encoders_see_the_same_of_inputs_and_of_targets():
    stack = stack_of([Run(0, Sum())])
    inputs, targets, mask = stack.rows.split(stack.rows.record)
    owners = stack.model.likelihood.owners_of_targets
    known = mask[:, owners] == 1
    assert torch.equal(inputs[:, :-D][known], stack.model.marginals.cells(targets)[known])
    shown = (stack.model.marginals.cells(targets) - stack.model.marginals.centre) / stack.model.marginals.spread
    numbers = (shown * known).sum(0) / known.sum(0)
    torch.testing.assert_close(numbers, torch.zeros_like(numbers), atol=1e-5, rtol=0)


def test_a_code_comes_to_tell_cells_apart():
    """An empty code would leave the second stage without anything to learn."""
    stack = stack_of([Run(0, Sum(), lr=5e-3)], steps=200)
    seen, _, mask = seen_by(stack, 200)
    mean, scale, _ = stack.model.look(seen)[0].chunk(3, -1)
    for d in range(D):
        known = mask[:, d] == 1
        assert mean[known, d].std() > 2 * scale[known, d].mean(), stack.model.likelihood.names[d]


# The bound


@pytest.mark.parametrize("first", [True, False])
def test_a_column_is_scored_by_its_own_bound(first):
    stack = stack_of([Run(0, Sum())], steps=3)
    model = stack.model.train()
    model.first.fill_(float(first))
    seen, targets, mask = seen_by(stack)
    noise = noise_for(model, 2)
    latent = model.infer(model.look(seen), noise)
    found = model.log_prob(model.decode(latent), targets)
    mean, scale = (x.unsqueeze(1) for x in model.marginals.encode(model.marginals.cells(targets)))
    raw = model.marginals.decode(mean + scale * noise[..., 3:])
    log_p = model.likelihood.log_prob(model.likelihood.constrain(raw), targets.unsqueeze(1), natural=True)
    heads = model.decode(latent)[..., : 2 * D]
    given = td.Normal(heads[..., :D], torch.nn.functional.softplus(heads[..., D:]) + 1e-3)
    own = td.Normal(mean, scale)
    expected = (log_p - td.kl_divergence(own, given)) * mask
    if first:
        expected = expected + log_p - 0.1 * td.kl_divergence(own, td.Normal(0.0, 1.0))
    torch.testing.assert_close(found, expected)
    of_h = td.kl_divergence(td.Normal(*model.encode(model.look(seen))), td.Normal(0.0, 1.0)).sum(-1)
    torch.testing.assert_close(latent.kl, of_h)
    model.eval()
    latent = Latent.of_samples(latent.z)
    torch.testing.assert_close(model.log_prob(model.decode(latent), targets), log_p - td.kl_divergence(own, given))


def test_samples_come_with_the_density_of_the_codes_of_visible_cells():
    stack = stack_of([Run(0, Sum())], steps=3)
    model = stack.model.eval()
    seen, _, mask = seen_by(stack)
    features, noise = model.look(seen), noise_for(model, 5)
    with torch.no_grad():
        latent = model.infer(features, noise)
    h, e = latent.z.split([3, D], -1)
    heads = model.decode(latent)[..., : 2 * D]
    given = td.Normal(heads[..., :D], torch.nn.functional.softplus(heads[..., D:]) + 1e-3)
    z = given.mean + given.stddev * e
    mean, scale, _ = (x.unsqueeze(1) for x in features.chunk(3, -1))
    own = td.Normal(mean, scale)
    torch.testing.assert_close((z * mask), (mean + scale * noise[..., 3:]) * mask)
    torch.testing.assert_close(e * (1 - mask), noise[..., 3:] * (1 - mask))
    q_h = td.Normal(*(x.unsqueeze(1) for x in model.encode(features)))
    expected = (td.Normal(0.0, 1.0).log_prob(h) - q_h.log_prob(h)).sum(-1)
    expected = expected + ((given.log_prob(z) - own.log_prob(z)) * mask).sum(-1)
    torch.testing.assert_close(latent.log_prior - latent.log_q, expected)
    rate = td.kl_divergence(q_h, td.Normal(0.0, 1.0)).sum(-1).squeeze(1)
    torch.testing.assert_close(latent.kl, rate)
    torch.testing.assert_close(latent.cells_kl, (td.kl_divergence(own, given) * mask).sum(-1).mean(1))


# A stack of them


@pytest.mark.usefixtures("soon")
def test_replicas_are_on_their_own():
    runs = [Run(0, Sum()), Run(1, IMTLG(), kl_weight=0.1), Run(0, PCGrad())]
    together = stack_of(runs, n_samples=2, steps=8)
    for r, run in enumerate(runs):
        alone = stack_of([run], n_samples=2, steps=8)
        for (name, many), one in zip(together.model.named_parameters(), alone.model.parameters(), strict=True):
            torch.testing.assert_close(many[r], one[0], msg=name)


@pytest.mark.usefixtures("soon")
def test_it_can_be_cut_and_resumed_in_either_stage():
    runs = [Run(0, Sum()), Run(0, IMTLG())]
    for steps in (2, 6):
        first, second = stack_of(runs, steps=steps), stack_of(runs)
        second.load_state_dict(first.state_dict())
        for stack in (first, second):
            stack.keep([1])
            stack.train(4)
        for one, other in zip(first.model.state_dict().values(), second.model.state_dict().values(), strict=True):
            assert torch.equal(one, other)


@pytest.mark.usefixtures("soon")
def test_a_method_settles_the_heads_of_the_second_stage():
    plain, other = (stack_of([Run(0, m)], steps=6) for m in (Sum(), MGDA()))
    (block,) = other.blocks
    assert block.last.gram.shape == (1, D, D)
    for name, p in plain.model.named_parameters():
        same = torch.equal(p, dict(other.model.named_parameters())[name])
        assert same == name.startswith("marginals."), name


@pytest.mark.usefixtures("soon")
def test_missing_cells_have_no_influence():
    clean, other = (stack_of([Run(0, IMTLG())], steps=8, change=c) for c in (lambda b: b, garbled))
    for one, two in zip(clean.model.state_dict().values(), other.model.state_dict().values(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.usefixtures("soon")
def test_a_step_asks_nothing_of_the_host(monkeypatch):
    stack = stack_of([Run(0, Sum()), Run(1, Sum())], steps=1)

    def listed(self):
        raise AssertionError("numbers are listed in a step")

    for ask in ("tolist", "item", "__bool__"):
        monkeypatch.setattr(torch.Tensor, ask, listed)
    stack._step()


def test_dreg_is_refused():
    with pytest.raises(ValueError, match="objective should be one of 'elbo' with model='vaem'. Found 'dreg'"):
        stack_of([Run(0, Sum())], objective="dreg")


# What it is good for


@pytest.fixture(scope="module")
def learnt():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evenhand.tables.families._vaem._vaem.MARGINAL_STEPS", 200)
        return stack_of([Run(0, Sum(), lr=5e-3)], steps=500, sizes=Sizes(3, 32, 2))


def test_hidden_cells_are_guessed_from_the_visible_ones(learnt):
    """Income, price and warmth all follow one hidden number."""
    model, index = learnt.model, torch.arange(len(learnt.rows))
    visible = torch.ones(len(index), D)
    column = model.likelihood.names.index("income")
    visible[:, column] = 0
    guess = expectations(model, learnt.rows, index, visible, weighted=False)[0, :, column]
    raw, place = table(len(index)), SCHEMA.names.index("income")
    both = torch.stack([guess, torch.tensor(raw.values[:, place])])[:, raw.observed[:, place]]
    assert float(torch.corrcoef(both)[0, 1]) > 0.7


def test_inference_asks_it(learnt):
    model, rows, index = learnt.model, learnt.rows, torch.arange(12)
    generator = torch.Generator().manual_seed(0)
    assert reconstruct(model, rows, index).shape == (1, 12, D)
    assert encode(model, rows, index).shape == (1, 12, 3 + D)
    assert head_gradients(model, rows, index).shares.sum(-1).item() == pytest.approx(1, rel=1e-5)
    drawn = rows_from_prior(model, 500, generator)
    codes = rows_from_codes(model, torch.randn(500, 3 + D).numpy(), generator)
    place = SCHEMA.names.index("income"), SCHEMA.names.index("price")
    for new in (drawn, codes):
        assert torch.corrcoef(torch.tensor(new[:, place]).log().T)[0, 1] < -0.3


def test_more_samples_tighten_the_density(learnt):
    model, rows, index = learnt.model, learnt.rows, torch.arange(100)
    bound = rates_and_bounds(model, rows, index, generator=torch.Generator().manual_seed(0))[1].mean()
    few, many = (
        log_likelihood(model, rows, index, n_samples=k, generator=torch.Generator().manual_seed(0)).mean()
        for k in (5, 200)
    )
    assert bound < few < many
