"""Bounds between loose and tight: limits, order, a model with known evidence, gradients, and who keeps its weight."""

import math

import pytest
import torch

from evenhand.modalities.objectives import (
    Balanced,
    Defensive,
    Loose,
    LooseToTight,
    PartlyTight,
    Tempered,
    Tight,
    effective_experts,
    expert_shares,
    mixture_bound,
    mixture_log_q,
    mixture_log_weights,
)
from evenhand.modalities.objectives._tightness import balanced_temperature, tempered_bound

from .._linear import draw, holes, log_evidence, network

A, K, B = 3, 4, 5
PRESENT = torch.tensor([[1, 1, 0, 1, 0], [1, 0, 1, 0, 0], [1, 1, 1, 0, 1]]).bool()
RULES = [
    Loose(),
    Loose(weighted=False),
    Tight(),
    Tempered(0.3),
    Balanced(0.6),
    PartlyTight(),
    LooseToTight(100),
    Defensive(0.1),
]
IDS = [repr(rule) for rule in RULES]


def log_weights(scale=2.0, seed=0):
    return scale * torch.randn(A, K, B, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("present", [None, PRESENT])
def test_the_limits_of_a_tempered_bound(present):
    x = log_weights()
    torch.testing.assert_close(tempered_bound(x, 1.0, present), mixture_bound("siwae", x, present))
    torch.testing.assert_close(
        tempered_bound(x, 1e-6, present), mixture_bound("elbo", x, present), atol=1e-4, rtol=1e-4
    )
    torch.testing.assert_close(Tight().weigh(x, present, 0).bound, mixture_bound("siwae", x, present))


def test_a_tempered_bound_by_hand():
    x, t = log_weights(), 0.4
    for b in range(B):
        mean = sum(math.exp(x[a, k, b]) ** t for a in range(A) for k in range(K)) / (A * K)
        assert tempered_bound(x, t)[b].item() == pytest.approx(math.log(mean) / t)


@pytest.mark.parametrize("present", [None, PRESENT])
def test_bounds_rise_with_the_temperature(present):
    x = log_weights(5.0)
    bounds = torch.stack([tempered_bound(x, t, present) for t in (1e-3, 0.01, 0.1, 0.3, 0.7, 1.0)])
    assert (bounds.diff(dim=0) >= -1e-9).all()


def test_a_temperature_for_every_row():
    x, t = log_weights(), torch.tensor([0.1, 0.3, 0.5, 0.9, 1.0])
    expected = [tempered_bound(x[..., b : b + 1], t[b].item()).item() for b in range(B)]
    torch.testing.assert_close(tempered_bound(x, t), torch.tensor(expected))


def test_shares_of_experts():
    x = torch.full((3, 2, 1), -torch.inf)
    x[0], x[1], x[2] = math.log(1.0), math.log(2.0), math.log(5.0)
    torch.testing.assert_close(expert_shares(x)[:, 0], torch.tensor([1 / 8, 2 / 8, 5 / 8]))
    assert effective_experts(torch.tensor([[1.0], [0.0], [0.0]])).item() == 1
    assert effective_experts(torch.full((4, 1), 0.25)).item() == pytest.approx(4)
    shares = expert_shares(log_weights(), 1.0, PRESENT)
    assert (shares[~PRESENT] == 0).all()
    torch.testing.assert_close(shares.sum(0), torch.ones(B))


@pytest.mark.parametrize("scale", [0.1, 2.0, 500.0, 1e5])
@pytest.mark.parametrize("present", [None, PRESENT])
@pytest.mark.parametrize("floor", [0.4, 0.6, 0.9])
def test_the_largest_temperature_at_which_enough_experts_count(scale, present, floor):
    x = log_weights(scale)
    t = balanced_temperature(x, floor, present)
    n = torch.full((B,), float(A)) if present is None else present.sum(0).double()
    number = effective_experts(expert_shares(x, t, present))
    coldest = t <= 1.01e-4
    assert ((number >= floor * n - 1e-9) | coldest).all()
    warmer = effective_experts(expert_shares(x, (1.02 * t).clamp(max=1.0), present))
    assert ((warmer < floor * n) | (t >= 0.98)).all()
    assert ((t > 0) & (t <= 1)).all()


def test_a_single_expert_always_has_its_temperature():
    assert (balanced_temperature(log_weights(100.0)[:1], 0.6) == 1).all()


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_what_an_absent_expert_says_has_no_influence(rule):
    x = log_weights().requires_grad_()
    found = rule.weigh(x, PRESENT, 50)
    other = rule.weigh(torch.where(PRESENT[:, None], x, 1e6), PRESENT, 50)
    torch.testing.assert_close(found.bound, other.bound)
    (gradient,) = torch.autograd.grad(found.bound.sum(), x)
    assert gradient.isfinite().all()
    assert (gradient[(~PRESENT)[:, None].expand_as(gradient)] == 0).all()


@pytest.mark.parametrize("rule", RULES, ids=IDS)
@pytest.mark.parametrize("missing", [False, True])
def test_all_are_below_the_evidence_and_near_it_with_the_exact_posterior(rule, missing):
    """A linear-Gaussian model: with exact experts of everything, weights are nearly the same for all samples."""
    net, n = network("mixture"), 400
    values, observed = draw(n), holes(n) if missing else None
    found = bound_of(rule, net, values, observed)
    evidence = torch.stack(
        [
            log_evidence(
                {name: x[b : b + 1] for name, x in values.items()},
                [name for d, name in enumerate("abc") if observed is None or observed[b, d]],
            )[0]
            for b in range(n)
        ]
    )
    assert found.mean() < evidence.mean() + 0.02  # in expectation; 400 rows of 64 samples
    exact = network("product", exact=True)
    same = bound_of(rule, exact, values, None).mean()
    slack = 0.0 if not isinstance(rule, Defensive) else -math.log1p(-rule.share)
    whole = log_evidence(values, "abc").mean()
    assert same == pytest.approx(whole.item(), abs=slack + 1e-6)


def bound_of(rule, net, values, observed, n_samples=64, progress=50):
    noise = torch.randn(net.n_experts, n_samples, len(values["a"]), 2, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        terms = net(values, noise, observed)
        present = terms.experts.present
        log_q = rule.log_q(mixture_log_q(terms.log_q, present), terms.log_prior)
        weights = terms.log_likelihood.sum(-1) + terms.log_prior - log_q
        return rule.weigh(weights, present, progress).bound


def test_the_order_of_bounds_in_expectation():
    """Loose, between, tight: for one model and the same samples."""
    net, values = network("mixture"), draw(500)
    means = {
        name: bound_of(rule, net, values, None, n_samples=8).mean().item()
        for name, rule in {
            "cold": Tempered(1e-3),
            "balanced": Balanced(0.6),
            "tight": Tight(),
            "early": LooseToTight(100),
            "late": LooseToTight(50),
        }.items()
    }
    assert means["cold"] < means["balanced"] < means["tight"]
    assert means["early"] < means["late"]
    assert means["late"] == pytest.approx(means["tight"])


def test_from_loose_to_tight():
    x = log_weights()
    loose, tight = mixture_bound("iwae", x), mixture_bound("siwae", x)
    for progress, share in [(0, 0.0), (25, 0.25), (100, 1.0), (1e6, 1.0), (torch.tensor([50.0]), 0.5)]:
        torch.testing.assert_close(
            LooseToTight(100).weigh(x, None, progress).bound, (1 - share) * loose + share * tight
        )


def test_a_defensive_density():
    log_q, log_prior = torch.randn(2, 3), torch.randn(2, 3)
    found = Defensive(0.2).log_q(log_q, log_prior)
    torch.testing.assert_close(found.exp(), 0.8 * log_q.exp() + 0.2 * log_prior.exp())
    assert Tight().log_q(log_q, log_prior) is log_q


def test_encoders_get_the_weights_within_their_expert():
    x = log_weights(3.0).requires_grad_()
    found = PartlyTight().weigh(x, None, 0)
    (decoders,) = torch.autograd.grad(found.bound.sum(), x)
    expected = x.detach().softmax(1) / A  # of the loose bound
    torch.testing.assert_close(decoders * found.encoders, expected)
    tight = x.detach().flatten(0, 1).softmax(0).view_as(x)
    torch.testing.assert_close(decoders, 0.999 * tight + 0.001 * expected)


def test_a_dead_expert_gets_gradients_again():
    """One expert is 400 nats behind: the tight bound gives its encoder nothing at all."""
    x = log_weights(1.0)
    x[2] -= 400.0
    shares = {}
    for rule in [*RULES, Balanced(0.7)]:  # more than two of three experts should count
        y = x.clone().requires_grad_()
        found = rule.weigh(y, None, 0)
        (gradient,) = torch.autograd.grad(found.bound.sum(), y)
        way = gradient if found.encoders is None else gradient * found.encoders
        shares[type(rule).__name__] = way[2].sum().item() / B
    assert shares["Tight"] < 1e-100
    assert shares["Balanced"] > 0.02
    assert shares["PartlyTight"] == pytest.approx(1 / 3)
    assert shares["LooseToTight"] == pytest.approx(1 / 3)  # at the first step


@pytest.mark.parametrize("rule", RULES, ids=IDS)
@pytest.mark.parametrize("present", [None, PRESENT])
def test_weights_are_the_slopes_of_the_bound(rule, present):
    x = log_weights().requires_grad_()
    found = rule.weigh(x, present, 30)
    (slopes,) = torch.autograd.grad(found.bound.sum(), x)
    torch.testing.assert_close(found.decoders, slopes)
    for constant in (found.decoders, found.encoders, found.doubly):
        assert constant is None or not constant.requires_grad
    assert (found.encoders is not None) == rule.weighs_encoders


def test_doubly_reparametrised_gradients_square_the_weights():
    x = log_weights()
    for rule, expected in [
        (Tight(), lambda w, u: w.square()),
        (Loose(), lambda w, u: u.square() / A),
        (PartlyTight(), lambda w, u: u.square() / A),
        (LooseToTight(100), lambda w, u: 0.7 * u.square() / A + 0.3 * w.square()),
    ]:
        found = rule.weigh(x, None, 30)
        tight, within = x.flatten(0, 1).softmax(0).view_as(x), x.softmax(1)
        torch.testing.assert_close(found.decoders * found.doubly, expected(tight, within))
    tempered, t = Tempered(0.3).weigh(x, None), 0.3
    torch.testing.assert_close(tempered.doubly, 0.7 + t * tempered.decoders)
    assert (Loose(weighted=False).weigh(x).doubly == 1).all()


@pytest.mark.parametrize("t", [0.2, 1.0])
def test_gradients_are_those_of_the_bound(t):
    x = log_weights().requires_grad_()
    assert torch.autograd.gradcheck(lambda y: tempered_bound(y, t, PRESENT), (x,))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tempered(0), "temperature should be a number > 0 and <= 1. Found 0"),
        (lambda: Tempered(1.5), "temperature should"),
        (lambda: Balanced(1.0), "floor should be a number > 0 and < 1. Found 1.0"),
        (lambda: LooseToTight(0), "steps should be an integer >= 1. Found 0"),
        (lambda: Defensive(1), "share should"),
    ],
)
def test_wrong_numbers_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_weights_are_those_of_the_mixture():
    """What the rules get is what the engine computes."""
    log_likelihood, log_q, log_prior = torch.randn(A, K, B, 2), torch.randn(A, A, K, B), torch.randn(A, K, B)
    by_rule = log_likelihood.sum(-1) + log_prior - Tight().log_q(mixture_log_q(log_q), log_prior)
    torch.testing.assert_close(by_rule, mixture_log_weights(log_likelihood, log_q, log_prior))
