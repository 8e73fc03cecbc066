"""Objectives of mixtures of experts against sums by hand, a model with known evidence, and known expectations."""

import itertools
import math

import pytest
import torch
from torch import distributions as td

from evenhand.modalities.inference import mixture_log_likelihood
from evenhand.modalities.models import Experts, log_densities
from evenhand.modalities.objectives import (
    contrastive,
    dynamic_prior,
    gaussian_kl,
    mixture_bound,
    mixture_log_q,
    mixture_log_weights,
    mixture_shares,
    mmjsd,
    with_unrelated,
)

from .._linear import CHOICES, NOISE, SIZES, core, draw, gradients, holes, log_evidence, network, vector

A, K, B, D = 3, 4, 5, 2
PRESENT = torch.tensor([[1, 1, 0, 1, 0], [1, 0, 1, 0, 0], [1, 1, 1, 0, 1]]).bool()
BOUNDS = ["elbo", "iwae", "siwae"]


def terms():
    return torch.randn(A, K, B, D), torch.randn(A, A, K, B), torch.randn(A, K, B)


def weight_by_hand(log_likelihood, log_q, log_prior, there, beta, a, k, b):
    """The importance weight of one sample, as a number."""
    q = sum(math.exp(log_q[a, other, k, b]) for other in there) / len(there)
    p = math.exp(sum(log_likelihood[a, k, b, d] for d in range(D)))
    return p * (math.exp(log_prior[a, k, b]) / q) ** beta


def bound_by_hand(name, weights):
    """From the weights of the experts that are there, a list of lists over samples."""
    if name == "elbo":
        return sum(math.log(w) for row in weights for w in row) / (len(weights) * K)
    if name == "iwae":
        return sum(math.log(sum(row) / K) for row in weights) / len(weights)
    return math.log(sum(sum(row) for row in weights) / (len(weights) * K))


# Sums by hand


@pytest.mark.parametrize("present", [None, PRESENT])
def test_the_density_of_the_mixture(present):
    log_q = torch.randn(A, A, K, B)
    found = mixture_log_q(log_q, present)
    for a, k, b in itertools.product(range(A), range(K), range(B)):
        there = [o for o in range(A) if present is None or present[o, b]]
        expected = math.log(sum(math.exp(log_q[a, o, k, b]) for o in there) / len(there))
        assert found[a, k, b].item() == pytest.approx(expected)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("beta", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("present", [None, PRESENT])
def test_bounds_are_sums_over_experts_and_samples(name, beta, present):
    parts = terms()
    found = mixture_bound(name, mixture_log_weights(*parts, present, beta), present)
    for b in range(B):
        there = [a for a in range(A) if present is None or present[a, b]]
        weights = [[weight_by_hand(*parts, there, beta, a, k, b) for k in range(K)] for a in there]
        assert found[b].item() == pytest.approx(bound_by_hand(name, weights))


@pytest.mark.parametrize("name", BOUNDS)
def test_what_an_absent_expert_says_has_no_influence(name):
    log_weights = torch.randn(A, K, B, requires_grad=True)
    bound = mixture_bound(name, log_weights, PRESENT)
    other = torch.where(PRESENT[:, None], log_weights, 1e6)
    assert torch.equal(bound, mixture_bound(name, other, PRESENT))
    (gradient,) = torch.autograd.grad(bound.sum(), log_weights)
    assert torch.equal((gradient != 0).all(1), PRESENT)
    assert (gradient[(~PRESENT)[:, None].expand_as(gradient)] == 0).all()


@pytest.mark.parametrize("name", ["iwae", "siwae"])
@pytest.mark.parametrize("present", [None, PRESENT])
def test_shares_are_the_weights_of_the_gradient(name, present):
    """d bound / d log w, in proportion to what it is averaged with."""
    log_weights = torch.randn(A, K, B, requires_grad=True)
    (expected,) = torch.autograd.grad(mixture_bound(name, log_weights, present).sum(), log_weights)
    number = A if present is None else present.sum(0)
    found = mixture_shares(name, log_weights, present)
    if present is not None:
        found = torch.where(present[:, None], found, 0.0)
    torch.testing.assert_close(found, expected * (number if name == "iwae" else 1))
    assert not found.requires_grad
    assert (mixture_shares("elbo", log_weights, present) == 1).all()


def test_an_unknown_objective_is_named():
    with pytest.raises(ValueError, match="Found 'elboo'"):
        mixture_bound("elboo", torch.zeros(A, K, B))


@pytest.mark.parametrize("objective", BOUNDS)
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("beta", [1.0, 0.4])
@pytest.mark.parametrize("missing", [False, True])
def test_every_sample_counts_with_its_own_density(objective, choice, beta, missing):
    """The whole way from rows to the bound, one sample at a time (published code averages log q over samples)."""
    net, n, k = network(choice), 8, 3
    values, observed = draw(n), holes(n) if missing else None
    model = core(net, objective=objective, n_samples=k, kl_weight=beta)
    noise = model.noise(n)
    expected = []
    for b in range(n):
        names = [name for d, name in enumerate("abc") if observed is None or observed[b, d]]
        subsets = {tuple(m for s, m in zip(row, "abc", strict=True) if s and m in names): a for a, row in
                   reversed(list(enumerate(net.subsets.tolist())))}  # fmt: skip
        subsets = {a: s for s, a in subsets.items() if s}  # the first of equal ones counts
        experts = {}
        for a, members in subsets.items():
            mean, scale = net.posteriors({m: values[m][b : b + 1] for m in members})
            precision = (scale**-2).sum(0)
            experts[a] = td.Normal((mean * scale**-2).sum(0) / precision, precision**-0.5)
        weights = []
        for a, expert in experts.items():
            z = [expert.mean + expert.stddev * noise[a, i, b] for i in range(k)]
            q = [sum(e.log_prob(x).sum().exp() for e in experts.values()) / len(experts) for x in z]
            p = [td.Normal(0.0, 1.0).log_prob(x).sum().exp() for x in z]
            likelihood = [
                sum(td.Normal(net.decode(x, m), NOISE[m]).log_prob(values[m][b]).sum() for m in names).exp()
                for x in z
            ]
            weights.append([(lik * (pr / qu) ** beta).item() for lik, pr, qu in zip(likelihood, p, q, strict=True)])
        if objective == "elbo":
            expected.append(sum(math.log(w) for row in weights for w in row) / (len(weights) * k))
        elif objective == "iwae":
            expected.append(sum(math.log(sum(row) / k) for row in weights) / len(weights))
        else:
            expected.append(math.log(sum(sum(row) for row in weights) / (len(weights) * k)))
    found = model(values, observed, noise)
    assert found.bound.item() == pytest.approx(sum(expected) / n, rel=1e-10)
    assert found.loss.item() == pytest.approx(-sum(expected) / n, rel=1e-10)


def test_one_sample_of_one_expert_is_the_same_bound_everywhere():
    log_weights = torch.randn(1, 1, B)
    for name in BOUNDS:
        torch.testing.assert_close(mixture_bound(name, log_weights), log_weights[0, 0])


# The evidence of the linear-Gaussian model


def bounds_of_one_row(choice, exact, k, n=4000):
    """Many values of all bounds for the same row, [3, n], and its log-evidence."""
    net, values = network(choice, exact=exact), draw(1, seed=1)
    with torch.no_grad():
        many = {name: x.expand(n, -1) for name, x in values.items()}
        found = net(many, torch.randn(net.n_experts, k, n, 2))
        log_weights = mixture_log_weights(found.log_likelihood, found.log_q, found.log_prior)
        return torch.stack([mixture_bound(name, log_weights) for name in BOUNDS]), log_evidence(values, "abc").item()


def z_score(sample):
    return (sample.mean(0) / (sample.std(0) / len(sample) ** 0.5)).item()


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("exact", [False, True])
def test_bounds_rise_in_order_up_to_the_evidence(choice, exact):
    (elbo, iwae, siwae), evidence = bounds_of_one_row(choice, exact, k=5)
    if choice == "product" and exact:
        for bound in (elbo, iwae, siwae):  # the posterior itself
            torch.testing.assert_close(bound, torch.full_like(bound, evidence))
        return
    assert z_score(iwae - elbo) > 8
    assert z_score(evidence - siwae) > (-4 if exact else 5)  # with exact experts it is as good as tight
    if choice == "product":
        torch.testing.assert_close(iwae, siwae)
    else:
        assert z_score(siwae - iwae) > 8


@pytest.mark.parametrize("choice", CHOICES)
def test_weights_are_unbiased_for_the_evidence(choice):
    """Averages of weights, not of their logarithms, are p(x) in expectation."""
    (_, _, siwae), evidence = bounds_of_one_row(choice, exact=True, k=20)
    ratio = (siwae - evidence).exp()
    error = (ratio.std() / len(ratio) ** 0.5).item()
    assert error < 0.01
    assert abs(ratio.mean().item() - 1) < max(4 * error, 1e-10)


# Estimators of the gradient


def sampled_gradients(objective, choice, estimators, k, *, runs=40, rows=250, seed=1, **options):
    """Gradients of many runs by several estimators, all on the same noise, [estimators, runs, parameters]."""
    torch.manual_seed(seed)
    net = network(choice, options.pop("names", "ab"))
    values = {name: x.repeat(rows // 2, 1) for name, x in draw(2, net.names).items()}
    models = [core(net, objective=objective, gradient=g, n_samples=k, **options) for g in estimators]
    found = [[] for _ in models]
    for _ in range(runs):
        noise = models[0].noise(rows)
        for model, list_of in zip(models, found, strict=True):
            list_of.append(gradients(model, values, noise=noise))
    encoders = torch.stack([torch.stack([vector(g, "encoders") for g in rows_]) for rows_ in found])
    decoders = torch.stack([torch.stack([vector(g, "decoders") for g in rows_]) for rows_ in found])
    return encoders, decoders


def z_scores(first, second):
    """Of the mean difference of paired runs, for every parameter."""
    difference = first - second
    return difference.mean(0) / (difference.std(0) / len(difference) ** 0.5)


# with this many parameters (22) a larger one comes up once in 4000 times
LARGEST = 4.4


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("kl_weight", [1.0, 0.5])
def test_sticking_the_landing_is_unbiased_for_the_elbo(choice, kl_weight):
    encoders, decoders = sampled_gradients("elbo", choice, ["plain", "stl", "dreg"], k=2, kl_weight=kl_weight)
    plain, stl, dreg = encoders
    assert z_scores(plain, stl).abs().max() < LARGEST
    assert (plain - stl).abs().max() > 1e-3  # and yet they are different
    torch.testing.assert_close(stl, dreg)
    torch.testing.assert_close(decoders[0], decoders[1])


@pytest.mark.parametrize(("objective", "kl_weight"), [("iwae", 1.0), ("siwae", 1.0), ("iwae", 0.25)])
def test_dreg_is_unbiased_for_one_expert_and_sticking_the_landing_is_not(objective, kl_weight):
    encoders, decoders = sampled_gradients(objective, "product", ["plain", "dreg", "stl"], k=4, kl_weight=kl_weight)
    plain, dreg, stl = encoders
    assert z_scores(plain, dreg).abs().max() < LARGEST
    assert (plain - dreg).abs().max() > 1e-3
    assert z_scores(plain, stl).abs().max() > 3 * LARGEST  # Tucker et al., 2019: biased where K > 1
    for other in decoders[1:]:
        torch.testing.assert_close(decoders[0], other)  # on the way to the decoders all are the same


def test_dreg_of_one_sample_is_sticking_the_landing():
    (stl, dreg), _ = sampled_gradients("iwae", "mixture", ["stl", "dreg"], k=1, runs=2)
    torch.testing.assert_close(stl, dreg)


def test_dreg_of_a_mixture_has_a_bias_that_samples_make_small():
    """Stratified samples do not come from the mixture whose density they are weighted with."""
    few, many = (sampled_gradients("siwae", "mixture", ["plain", "dreg"], k=k)[0] for k in (1, 20))
    bias, left = ((plain - dreg).mean(0).norm() for plain, dreg in (few, many))
    assert z_scores(*few).abs().max() > 2 * LARGEST
    assert left < bias / 4


@pytest.mark.parametrize("gradient", ["stl", "dreg"])
@pytest.mark.parametrize("objective", ["elbo", "iwae", "siwae"])
def test_nothing_is_left_of_the_gradient_at_the_exact_posterior(objective, gradient):
    """Sample by sample, where plain gradients vanish only in expectation."""
    net, values = network("product", exact=True), draw(6)
    noise = torch.randn(1, 4, 6, 2)
    found = gradients(core(net, objective=objective, n_samples=4, gradient=gradient), values, noise=noise)
    assert vector(found, "encoders").abs().max() < 1e-10
    assert vector(found, "decoders").abs().max() > 1e-3
    plain = gradients(core(net, objective=objective, n_samples=4, gradient="plain"), values, noise=noise)
    assert vector(plain, "encoders").abs().max() > 1e-2


# The Jensen-Shannon objective


def test_the_dynamic_prior_is_a_geometric_mean():
    mean, scale = torch.randn(3, 4, 2), torch.rand(3, 4, 2) + 0.5
    members = torch.tensor([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]]).bool()
    grid = torch.linspace(-9, 9, 6001)
    for mask in (None, members):
        f_mean, f_scale = dynamic_prior(mean, scale, mask)
        for b, j in itertools.product(range(4), range(2)):
            logs = [td.Normal(0.0, 1.0).log_prob(grid)]
            logs += [
                td.Normal(mean[d, b, j], scale[d, b, j]).log_prob(grid)
                for d in range(3)
                if mask is None or mask[d, b]
            ]
            p = torch.stack(logs).mean(0).softmax(0)
            first = (p * grid).sum()
            assert f_mean[b, j].item() == pytest.approx(first.item(), abs=1e-7)
            assert f_scale[b, j].item() == pytest.approx(((grid - first) ** 2 * p).sum().sqrt().item(), abs=1e-5)


def test_divergences_are_those_of_torch():
    mean, other = torch.randn(2, 4, 3)
    scale, other_scale = torch.rand(2, 4, 3) + 0.3
    expected = td.kl_divergence(td.Normal(mean, scale), td.Normal(other, other_scale)).sum(-1)
    torch.testing.assert_close(gaussian_kl(mean, scale, other, other_scale), expected)


@pytest.mark.parametrize("beta", [1.0, 0.3])
@pytest.mark.parametrize("present", [None, PRESENT])
def test_mmjsd_is_a_sum_over_experts(beta, present):
    log_likelihood, divergences = torch.randn(A, K, B, D), torch.rand(A + 1, B)
    found = mmjsd(log_likelihood, divergences, present, beta)
    for b in range(B):
        there = [a for a in range(A) if present is None or present[a, b]]
        fit = sum(log_likelihood[a, k, b].sum().item() for a in there for k in range(K)) / (len(there) * K)
        rate = sum(divergences[a, b].item() for a in [*there, A]) / (len(there) + 1)
        assert found[b].item() == pytest.approx(fit - beta * rate)


@pytest.mark.parametrize("missing", [False, True])
def test_mmjsd_of_a_model(missing):
    net, n, k = network("mixture"), 8, 3
    values, observed = draw(n), holes(n) if missing else None
    model = core(net, objective="mmjsd", n_samples=k, kl_weight=0.7)
    noise, expected = model.noise(n), 0.0
    mean, scale = net.posteriors(values)
    for b in range(n):
        there = [d for d in range(3) if observed is None or observed[b, d]]
        q = [td.Normal(mean[d, b], scale[d, b]) for d in there] + [td.Normal(torch.zeros(2), torch.ones(2))]
        precision = sum(e.variance.reciprocal() for e in q) / len(q)
        f = td.Normal(sum(e.mean / e.variance for e in q) / len(q) / precision, precision**-0.5)
        expected -= 0.7 * sum(td.kl_divergence(e, f).sum().item() for e in q) / len(q)
        for d, i, m in itertools.product(there, range(k), there):
            z, name = mean[d, b] + scale[d, b] * noise[d, i, b], "abc"[m]
            fit = td.Normal(net.decode(z[None], name), NOISE[name]).log_prob(values[name][b]).sum()
            expected += fit.item() / (k * len(there))
    assert model(values, observed, noise).bound.item() == pytest.approx(expected / n)


def test_mmjsd_may_lie_above_the_evidence():
    """Where the ELBO is tight: the dynamic prior is nearer to the posterior than the prior is."""
    net = network("mixture", "c", exact=True)
    values = {"c": net.decode(torch.tensor([[2.0, 2.0]]), "c").detach().expand(4000, -1)}
    evidence = log_evidence(values, "c")[0].item()
    assert core(net, objective="elbo")(values).bound.item() == pytest.approx(evidence)
    assert core(net, objective="mmjsd")(values).bound.item() > evidence + 0.5


# The contrastive objective


def test_contrastive_is_a_sum_over_modalities_and_other_rows():
    related, unrelated = torch.randn(B), torch.randn(D, 3, B)
    found = contrastive(related, unrelated, 1.7)
    for b in range(B):
        parts = []
        for d in range(D):
            terms_ = [math.exp(related[b]), *[math.exp(x) for x in unrelated[d, :, b]]]
            parts.append(math.log(sum(terms_) / len(terms_)))
        assert found[b].item() == pytest.approx(1.7 * related[b].item() - sum(parts) / D)


@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_contrastive_raises_related_rows_and_lowers_unrelated_ones(weight):
    related, unrelated = torch.randn(B, requires_grad=True), torch.randn(D, 3, B, requires_grad=True)
    contrastive(related, unrelated, weight).sum().backward()
    assert (related.grad > 0).all()
    assert (unrelated.grad < 0).all()
    # what is raised and what is lowered, together, is the evidence with weight gamma - 1
    torch.testing.assert_close(related.grad + unrelated.grad.sum((0, 1)), torch.full((B,), weight - 1))


def changed(values, observed, name, d, shift):
    """The batch with one modality of every row taken from another."""
    other = {**values, name: values[name].roll(shift, 0)}
    if observed is None:
        return other, None
    mask = observed.clone()
    mask[:, d] = observed[:, d].roll(shift, 0)
    return other, mask


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("gradient", ["stl", "plain"])
def test_contrastive_rows_are_evaluated_like_batches_of_their_own(choice, gradient):
    net, n = network(choice), 6
    values = draw(n)
    model = core(net, objective="contrastive", gradient=gradient, n_negatives=2, contrast=1.5)
    noise = model.noise(n)

    def bound(batch, mask):
        found = net(batch, noise, mask, fixed_density=gradient != "plain")
        parts = found.log_likelihood, found.log_q, found.log_prior, found.experts.present
        return mixture_bound("iwae", mixture_log_weights(*parts), found.experts.present)

    related = bound(values, None)
    unrelated = [[bound(*changed(values, None, name, d, s)) for s in (1, 2)] for d, name in enumerate("abc")]
    loss = -contrastive(related, torch.stack([torch.stack(x) for x in unrelated]), 1.5).mean()
    expected = dict(zip(dict(net.named_parameters()), torch.autograd.grad(loss, list(net.parameters())), strict=True))
    found = gradients(model, values, noise=noise)
    torch.testing.assert_close(model(values, noise=noise).loss, loss)
    torch.testing.assert_close(vector(found), vector(expected))


def test_rows_are_never_compared_with_themselves():
    model = core(network("mixture"), objective="contrastive", n_negatives=7)
    rows = torch.arange(4.0)[:, None]
    values = {name: rows.expand(4, SIZES[name]) for name in "abc"}
    more, mask, noise = with_unrelated(values, None, model.noise(4), 7)
    assert mask is None
    assert noise.shape[2] == 4 * (1 + 3 * 7)
    copies = torch.stack([x[:, 0].unflatten(0, (-1, 4)) for x in more.values()])  # [D, copies, 4]
    assert (copies[:, 0] == rows[:, 0]).all()
    for d, part in enumerate(copies[:, 1:].unflatten(1, (3, 7))):
        for e in range(3):
            assert (part[e] != rows[:, 0]).all() if d == e else (part[e] == rows[:, 0]).all()


def test_contrastive_survives_rows_that_lose_everything():
    """A row's only modality may be taken from a row that lacks it."""
    model = core(network("mixture"), objective="contrastive", n_negatives=2)
    observed = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]).bool()
    step = model(draw(4), observed)
    step.loss.backward()
    assert step.loss.isfinite()
    assert all(p.grad.isfinite().all() for p in model.network.parameters())


# Estimates of the evidence


@pytest.mark.parametrize("choice", CHOICES)
def test_joint_log_likelihoods_converge_to_the_evidence(choice):
    net, values = network(choice, exact=True), draw(20)
    found = mixture_log_likelihood(net, values, None, target="abc", n_samples=6000, generator=torch.Generator())
    torch.testing.assert_close(
        found, log_evidence(values, "abc"), rtol=0, atol=1e-10 if choice == "product" else 0.06
    )


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("given", "target"), [("a", "bc"), ("ca", "b"), ("b", "c")])
def test_conditional_log_likelihoods_converge(choice, given, target):
    net, values = network(choice, exact=True), draw(20)
    found = mixture_log_likelihood(
        net, values, None, given=given, target=target, n_samples=6000, generator=torch.Generator()
    )
    expected = log_evidence(values, given + target) - log_evidence(values, given)
    assert (found - expected).mean().abs() < 0.03
    torch.testing.assert_close(found, expected, rtol=0, atol=0.25)


def test_marginals_need_not_ask_for_everything():
    net, values = network("mixture", exact=True), draw(20)
    found = mixture_log_likelihood(net, values, None, target="b", n_samples=6000, generator=torch.Generator())
    torch.testing.assert_close(found, log_evidence(values, "b"), rtol=0, atol=0.15)


@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_missing_is_left_out_of_log_likelihoods(choice):
    net, values = network(choice, exact=True), draw(14)
    observed = holes(14)
    found = mixture_log_likelihood(net, values, observed, target="abc", n_samples=6000, generator=torch.Generator())
    garbage = {n: torch.where(observed[:, [d]], x, 1e3) for d, (n, x) in enumerate(values.items())}
    again = mixture_log_likelihood(net, garbage, observed, target="abc", n_samples=6000, generator=torch.Generator())
    torch.testing.assert_close(found, again)
    for b in range(14):
        names = [name for d, name in enumerate("abc") if observed[b, d]]
        row = {name: x[b : b + 1] for name, x in values.items()}
        assert found[b].item() == pytest.approx(log_evidence(row, names).item(), abs=0.1)


@pytest.mark.parametrize("choice", CHOICES)
def test_rows_that_lack_what_is_given_are_judged_without(choice):
    net, values = network(choice, exact=True), draw(6)
    observed = torch.tensor([[1, 1, 0], [0, 1, 1]]).bool().repeat(3, 1)
    found = mixture_log_likelihood(
        net, values, observed, given="a", target="bc", n_samples=20_000, generator=torch.Generator()
    )
    for b in range(6):
        row = {name: x[b : b + 1] for name, x in values.items()}
        expected = log_evidence(row, "bc") if b % 2 else log_evidence(row, "ab") - log_evidence(row, "a")
        assert found[b].item() == pytest.approx(expected.item(), abs=0.2)


@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_missing_is_left_out_of_what_is_given(choice):
    net, values, observed = network(choice, exact=True), draw(14), holes(14)
    garbage = {n: torch.where(observed[:, [d]], x, 1e3) for d, (n, x) in enumerate(values.items())}
    found, again = (
        mixture_log_likelihood(
            net, batch, observed, given="cb", target="a", n_samples=10, generator=torch.Generator().manual_seed(0)
        )
        for batch in (values, garbage)
    )
    torch.testing.assert_close(found, again)


def test_log_likelihoods_do_not_depend_on_the_batch():
    """The same row many times over, in one batch or in parts."""
    net, values = network("mixture", exact=True), draw(1, seed=2)
    many = {name: x.expand(3000, -1) for name, x in values.items()}

    def estimate(batch):
        return mixture_log_likelihood(net, batch, None, given="a", target="bc", n_samples=30)

    whole = estimate(many)
    parts = torch.cat([estimate({name: x[i : i + 50] for name, x in many.items()}) for i in range(0, 3000, 50)])
    error = ((whole.var() + parts.var()) / 3000) ** 0.5
    assert abs(whole.mean() - parts.mean()) < 4 * error < 0.1


def test_log_densities_are_those_of_torch():
    mean, scale = torch.randn(3, 4, 2), torch.rand(3, 4, 2) + 0.5
    z = torch.randn(3, 5, 4, 2)
    found = log_densities(Experts(mean, scale), [z] * 3)
    for a, other in itertools.product(range(3), range(3)):
        torch.testing.assert_close(found[a, other], td.Normal(mean[other], scale[other]).log_prob(z[a]).sum(-1))


def test_contrastive_counts_comparable_rows_only():
    related, unrelated = torch.randn(4), torch.randn(3, 2, 4)
    comparable = torch.rand(3, 2, 4) < 0.5
    found = contrastive(related, unrelated, 2.0, comparable)
    for b in range(4):
        against = []
        for d in range(3):
            terms = [related[b], *unrelated[d, comparable[d, :, b], b]]
            against.append(torch.stack(terms).exp().mean().log())
        torch.testing.assert_close(found[b], 2 * related[b] - torch.stack(against).mean())
    everything = contrastive(related, unrelated, 2.0, torch.ones_like(comparable))
    torch.testing.assert_close(everything, contrastive(related, unrelated, 2.0))
