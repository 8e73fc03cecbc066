"""Densities against scipy, slopes against autograd, guesses against brute force."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from scipy.special import expit
from torch import distributions as td
from torch.nn import functional as F

from evenhand.tables.frames import RawTable
from evenhand.tables.kinds import Categorical, Gaussian, Poisson, natural, ordinal_logits
from evenhand.tables.schema import Column, Schema

from .._inputs import SCHEMA, likelihood, log_density, one_column, raw_parameters, table

MOMENTS = [(0.0, 1.0), (-2.0, 0.3), (0.7, 4.0), (3.0, 1e-4)]  # mean and variance of the standardised column
FLOOR = 1e-4
RANDOM = np.random.default_rng(0)
REAL = (Column("x", "real"), RANDOM.normal(50, 7, 30))
POSITIVE = (Column("x", "positive"), RANDOM.lognormal(2, 0.6, 30))
FROM_ZERO = (Column("x", "count"), [0, 2, 5])
FROM_ONE = (Column("x", "count"), [1, 2, 5])
BINARY = (Column("x", "binary", ("f", "m")), [0, 1])
CATEGORICAL = (Column("x", "categorical", tuple("abcd")), [0, 1, 2, 3])
ORDINAL = (Column("x", "ordinal", (1, 2, 3, 4)), [0, 1, 2, 3])


def eta_of(mean, variance):
    return natural(torch.tensor([mean]), torch.tensor([variance]))


# Densities


@pytest.mark.parametrize(("mean", "variance"), MOMENTS)
def test_real_is_scipys_normal(mean, variance):
    heads, fitted = one_column(*REAL)
    centre, scale = REAL[1].mean(), REAL[1].std()
    expected = scipy.stats.norm(centre + scale * mean, scale * math.sqrt(variance)).logpdf(REAL[1])
    assert log_density(heads, fitted, eta_of(mean, variance), REAL[1]).numpy() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("mean", "variance"), MOMENTS)
@pytest.mark.parametrize("positive", ["log", "centred", "log1p"])
def test_positive_is_scipys_lognormal(mean, variance, positive):
    heads, fitted = one_column(*POSITIVE, positive)
    offset = float(positive == "log1p")
    logarithms = np.log(POSITIVE[1] + offset)
    centre, scale = (positive != "log") * logarithms.mean(), logarithms.std()
    law = scipy.stats.lognorm(scale * math.sqrt(variance), scale=math.exp(centre + scale * mean), loc=-offset)
    found = log_density(heads, fitted, eta_of(mean, variance), POSITIVE[1])
    assert found.numpy() == pytest.approx(law.logpdf(POSITIVE[1]), rel=1e-9)


@pytest.mark.parametrize("rate", [1e-3, 0.5, 3.0, 200.0])
@pytest.mark.parametrize(("column", "shift"), [(FROM_ZERO, 0), (FROM_ONE, 1)])
def test_count_is_scipys_poisson(rate, column, shift):
    heads, fitted = one_column(*column)
    x = shift + np.array([0, 1, 2, 17, 400])
    found = log_density(heads, fitted, torch.tensor([math.log(rate)]), x)
    assert found.numpy() == pytest.approx(scipy.stats.poisson(rate, loc=shift).logpmf(x), rel=1e-10)


@pytest.mark.parametrize("logit", [-30.0, -1.5, 0.0, 0.3, 12.0])
def test_binary_is_scipys_bernoulli(logit):
    heads, fitted = one_column(*BINARY)
    found = log_density(heads, fitted, torch.tensor([logit]), [0, 1]).numpy()
    # scipy's log of 1 - p loses digits where p is nearly 1
    expected = [scipy.stats.bernoulli(expit(-logit)).logpmf(1), scipy.stats.bernoulli(expit(logit)).logpmf(1)]
    assert found == pytest.approx(np.array(expected), rel=1e-9)


@pytest.mark.parametrize("column", [CATEGORICAL, ORDINAL])
@pytest.mark.parametrize("logits", [[0.0, 0, 0, 0], [1.0, -2, 0.5, 3], [40.0, 0, -40, 39]])
def test_categories_are_a_softmax(column, logits):
    heads, fitted = one_column(*column)
    found = log_density(heads, fitted, torch.tensor(logits), [0, 1, 2, 3]).numpy()
    weights = np.exp(np.array(logits) - max(logits))
    assert found == pytest.approx(np.log(weights / weights.sum()), rel=1e-9)


@pytest.mark.parametrize(("mean", "variance"), MOMENTS[:3])
@pytest.mark.parametrize(
    ("column", "positive"), [(REAL, "log"), (POSITIVE, "log"), (POSITIVE, "centred"), (POSITIVE, "log1p")]
)
def test_densities_integrate_to_one(mean, variance, column, positive):
    heads, fitted = one_column(*column, positive)
    u = np.linspace(mean - 12 * math.sqrt(variance), mean + 12 * math.sqrt(variance), 20_001)
    x = fitted.centre.item() + fitted.scale.item() * u
    if column is POSITIVE:
        x = np.exp(x) - fitted.offset.item()
    density = log_density(heads, fitted, eta_of(mean, variance), x).exp().numpy()
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("column", "values", "eta"),
    [
        (FROM_ZERO, range(200), [2.5]),
        (FROM_ONE, range(1, 200), [2.5]),
        (BINARY, range(2), [0.8]),
        (CATEGORICAL, range(4), [1.0, -2, 0.5, 3]),
        (ORDINAL, range(4), [1.0, -2, 0.5, 3]),
    ],
)
def test_probabilities_sum_to_one(column, values, eta):
    heads, fitted = one_column(*column)
    total = log_density(heads, fitted, torch.tensor(eta), list(values)).exp().sum()
    assert total.item() == pytest.approx(1, abs=1e-12)


# Slopes


def reference(heads, parameters, values, moments=None):
    """log p of all heads, in the schema's order, by torch's distributions; unconstrained if moments is not None."""
    parts = []
    for d, column in enumerate(heads.schema):
        own = parameters[..., heads.heads == heads.order.index(d)]
        x = values[:, d]
        if column.kind in ("real", "positive"):
            first, second = own.unbind(-1)
            if moments is True:
                mean, precision = first, F.softplus(second) + FLOOR
            else:
                second = second if moments is None else -F.softplus(second) - FLOOR
                mean, precision = -first / (2 * second), -2 * second
            parts.append(td.Normal(mean, precision**-0.5).log_prob(x))
        elif column.kind == "count":
            parts.append(td.Poisson(own.squeeze(-1).exp()).log_prob(x) + torch.lgamma(x + 1))
        elif column.kind == "binary":
            parts.append(td.Bernoulli(logits=own.squeeze(-1)).log_prob(x))
        else:
            parts.append(td.Categorical(logits=own).log_prob(x))
    return torch.stack(parts, -1)


def values_of_table(n):
    raw = table(n, missing=0.0)
    heads, fitted = likelihood()
    return heads, fitted.encode(raw).values.double()


@pytest.mark.parametrize("parametrisation", ["natural", "moments"])
def test_hand_written_slopes_are_those_of_torchs_distributions(parametrisation):
    _, values = values_of_table(20)
    heads, _ = likelihood(parameters=parametrisation)
    raw, weights = raw_parameters(heads, 2, 3, 20), torch.randn(2, 3, 20, len(SCHEMA))
    results = []
    for ours in (True, False):
        leaf = raw.clone().requires_grad_()
        if ours:
            log_p = heads.log_prob(leaf, heads.targets(values))[..., heads.inverse]
        else:
            log_p = reference(heads, leaf, values, parametrisation == "moments")
        (log_p * weights).sum().backward()
        results.append((log_p.detach(), leaf.grad))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("parametrisation", ["natural", "moments"])
def test_hand_written_natural_slopes_are_those_of_torchs_distributions(parametrisation):
    _, values = values_of_table(20)
    heads, _ = likelihood(parameters=parametrisation)
    eta = heads.constrain(raw_parameters(heads, 2, 3, 20))
    results = []
    for ours in (True, False):
        leaf = eta.clone().requires_grad_()
        if ours:
            log_p = heads.log_prob(leaf, heads.targets(values), natural=True)[..., heads.inverse]
        else:
            log_p = reference(heads, leaf, values)
        log_p.sum().backward()
        results.append((log_p.detach(), leaf.grad))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("is_natural", [False, True])
@pytest.mark.parametrize("parametrisation", ["natural", "moments"])
def test_slopes_are_finite_differences(is_natural, parametrisation):
    _, values = values_of_table(3)
    heads, _ = likelihood(parameters=parametrisation)
    point = raw_parameters(heads, 3)
    point = (heads.constrain(point) if is_natural else point).requires_grad_()
    targets = heads.targets(values)
    assert torch.autograd.gradcheck(lambda p: heads.log_prob(p, targets, natural=is_natural), point)


@pytest.mark.parametrize("parametrisation", ["natural", "moments"])
def test_constrained_parameters_mean_the_same(parametrisation):
    _, values = values_of_table(20)
    heads, _ = likelihood(parameters=parametrisation)
    raw, targets = raw_parameters(heads, 20), heads.targets(values)
    both = heads.log_prob(raw, targets), heads.log_prob(heads.constrain(raw), targets, natural=True)
    torch.testing.assert_close(*both, rtol=1e-12, atol=1e-12)


def test_parametrisations_differ():
    _, values = values_of_table(20)
    found = []
    for parametrisation in ("natural", "moments"):
        heads, _ = likelihood(parameters=parametrisation)
        found.append(heads.log_prob(raw_parameters(heads, 20), heads.targets(values)))
    numbers = [heads.names.index(n) for n in ("income", "price", "warmth", "area")]
    same = (found[0] == found[1]).all(0)
    assert sorted((~same).nonzero().flatten().tolist()) == sorted(numbers)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("parametrisation", ["natural", "moments"])
@pytest.mark.parametrize("size", [0.0, 30.0, 1e4, 1e8])
def test_gradients_are_finite_at_the_edges(dtype, parametrisation, size):
    _, values = values_of_table(8)
    heads, _ = likelihood(parameters=parametrisation)
    for d, column in enumerate(SCHEMA):
        if column.kind == "count":
            values[:4, d], values[4:, d] = 0, 1e6
    signs = torch.randn(8, heads.n_parameters).sign()
    signs[0], signs[1], signs[4], signs[5] = 1, -1, 1, -1
    leaf = (size * signs).to(dtype).requires_grad_()
    log_p = heads.log_prob(leaf, heads.targets(values).to(dtype))
    log_p.sum().backward()
    assert log_p.isfinite().all()
    assert leaf.grad.isfinite().all()


def test_a_wild_log_rate_is_led_back():
    group = Poisson(1)
    for eta, x in ((100.0, 3.0), (100.0, 0.0), (-100.0, 3.0)):
        log_p, slope = group.log_prob(torch.tensor([eta]), torch.tensor([x]))
        assert log_p.isfinite().all()
        assert slope.item() * eta < 0
    assert group.expectation(torch.tensor([1e3])).isfinite().all()


def test_a_mean_far_from_zero_does_not_cancel():
    # 10 deviations of a column whose mean is 10 000 of them from zero, in single precision
    mean, variance = torch.tensor([1e4]), torch.tensor([1.0])
    log_p, slope = Gaussian(1).log_prob(natural(mean, variance), torch.tensor([1e4 + 3]))
    assert log_p.item() == pytest.approx(-4.5 - 0.5 * math.log(2 * math.pi))
    log_p, _ = Gaussian(1).log_prob(natural(mean, variance).float(), torch.tensor([1e4 + 3]).float())
    assert log_p.item() == pytest.approx(-4.5 - 0.5 * math.log(2 * math.pi), rel=1e-3)
    assert slope.tolist() == pytest.approx([3.0, 3 * (2e4 + 3) - 1])


# Ordinal


@pytest.mark.parametrize("location", [-3.0, 0.0, 1.4])
@pytest.mark.parametrize("steps", [[0.3], [-1.0, 2.0], [0.0, 0.0, 0.0, 0.0], [1.0, -2.0, 0.5]])
def test_ordinal_logits_are_differences_of_sigmoids(location, steps):
    thresholds = np.cumsum(np.log1p(np.exp(steps)))
    below = [expit(t - location) for t in thresholds]
    expected = np.diff([0.0, *below, 1.0])
    found = ordinal_logits(torch.tensor([location]), torch.tensor(steps)).exp()
    assert found.numpy() == pytest.approx(expected, rel=1e-10)
    assert found.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("size", [0.0, 5.0, 100.0, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ordinal_logits_stay_finite_and_sum_to_one(size, dtype):
    location = (size * torch.randn(50, 1)).to(dtype).requires_grad_()
    steps = (size * torch.randn(50, 4)).to(dtype).requires_grad_()
    logits = ordinal_logits(location, steps)
    logits.sum().backward()
    assert logits.exp().sum(-1).tolist() == pytest.approx([1.0] * 50, rel=1e-5)
    for tensor in (logits, location.grad, steps.grad):
        assert tensor.isfinite().all()


def test_ordinal_logits_are_finite_differences():
    location, steps = torch.randn(4, 1, requires_grad=True), torch.randn(4, 3, requires_grad=True)
    assert torch.autograd.gradcheck(ordinal_logits, (location, steps))


def test_a_higher_location_means_higher_categories():
    locations = torch.linspace(-4, 8, 20).unsqueeze(-1)
    expected = (ordinal_logits(locations, torch.zeros(20, 4)).exp() * torch.arange(5)).sum(-1)
    assert (expected.diff() > 0).all()


# Appendix C of the paper: squared gradients in natural parameters


def squared_norms(heads, eta, u):
    leaf = eta.expand(len(u), -1).clone().requires_grad_()
    heads.log_prob(leaf, heads.targets(u.unsqueeze(-1)), natural=True).sum().backward()
    return leaf.grad.square().sum(-1)


@pytest.mark.parametrize("column", [REAL, POSITIVE])
@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (1.0, 0.5), (-2.0, 1.5)])
def test_squared_gradients_of_the_normal(column, mean, deviation):
    # The paper has s^2 + 4 m^2 s^2. It forgets the fourth moment: Var(x^2) = 2 s^4 + 4 m^2 s^2.
    heads, _ = one_column(*column)
    u = mean + deviation * torch.randn(400_000)
    found = squared_norms(heads, eta_of(mean, deviation**2), u)
    error = (found.std() / len(found) ** 0.5).item()
    paper = deviation**2 + 4 * mean**2 * deviation**2
    assert found.mean().item() == pytest.approx(paper + 2 * deviation**4, abs=5 * error)
    assert abs(found.mean().item() - paper) > 10 * error


@pytest.mark.parametrize("rate", [0.2, 3.0, 50.0])
def test_squared_gradients_of_the_poisson(rate):
    heads, _ = one_column(*FROM_ZERO)
    counts = torch.arange(400.0)
    exact = torch.from_numpy(scipy.stats.poisson(rate).pmf(counts.numpy()))
    eta = torch.tensor([math.log(rate)])
    assert (exact * squared_norms(heads, eta, counts)).sum().item() == pytest.approx(rate)
    drawn = squared_norms(heads, eta, torch.poisson(torch.full((200_000,), rate)))
    error = (drawn.std() / len(drawn) ** 0.5).item()
    assert drawn.mean().item() == pytest.approx(rate, abs=5 * error)


@pytest.mark.parametrize("logits", [[0.0, 0, 0, 0], [2.0, -1, 0.5, 0]])
def test_squared_gradients_of_the_categorical(logits):
    heads, _ = one_column(*CATEGORICAL)
    eta = torch.tensor(logits)
    pi = eta.softmax(-1)
    expected = (pi * (1 - pi)).sum().item()
    found = squared_norms(heads, eta, torch.arange(4.0))
    assert (pi * found).sum().item() == pytest.approx(expected)
    drawn = found[torch.multinomial(pi, 200_000, replacement=True)]
    error = (drawn.std() / len(drawn) ** 0.5).item()
    assert drawn.mean().item() == pytest.approx(expected, abs=5 * error + 1e-12)


# Guesses and draws in original units


def certain(heads, fitted, raw, precision=1e10):
    """Natural parameters that leave no doubt about the cells of a table, ``[1, N, P]``."""
    values = fitted.encode(raw).values.double()
    eta = torch.zeros(1, len(values), heads.n_parameters)
    for d, column in enumerate(heads.schema):
        own = (heads.heads == heads.order.index(d)).nonzero().flatten()
        x = values[:, d]
        if column.kind in ("real", "positive"):
            eta[0, :, own] = torch.stack([x * precision, torch.full_like(x, -0.5 * precision)], -1)
        elif column.kind == "count":
            eta[0, :, own[0]] = torch.log(x + 0.5)
        elif column.kind == "binary":
            eta[0, :, own[0]] = 1000 * (x - 0.5)
        else:
            eta[0, :, own] = 1000 * F.one_hot(x.long(), column.size).double()
    return eta


@pytest.mark.parametrize("positive", ["log", "centred", "log1p"])
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_guesses_stand_in_the_order_of_the_schema(positive, seed):
    order = list(range(len(SCHEMA))) if seed is None else np.random.default_rng(seed).permutation(len(SCHEMA))
    raw = table(40, missing=0.0)
    raw = type(raw)(raw.values[:, order], raw.observed[:, order])
    schema = Schema(tuple(SCHEMA.columns[d] for d in order))
    heads, fitted = likelihood(schema, raw, positive=positive)
    eta = certain(heads, fitted, raw)
    known = fitted.decode(fitted.encode(raw).values.double())
    counts = [d for d, c in enumerate(schema) if c.kind == "count"]
    rest = [d for d, c in enumerate(schema) if c.kind != "count"]
    assert heads.point(eta)[0].numpy() == pytest.approx(known, rel=1e-4, abs=1e-4)
    for guess in (heads.point(eta, "mean"), heads.decide(heads.expectation(eta))):
        assert guess[0, :, rest].numpy() == pytest.approx(known[:, rest], rel=1e-4, abs=1e-4)
        assert guess[0, :, counts].numpy() == pytest.approx(known[:, counts] + 0.5)
    assert heads.sample(eta)[0, :, rest].numpy() == pytest.approx(known[:, rest], rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(("mean", "variance"), MOMENTS[:3])
@pytest.mark.parametrize(
    ("column", "positive"), [(REAL, "log"), (POSITIVE, "log"), (POSITIVE, "centred"), (POSITIVE, "log1p")]
)
def test_the_mode_has_the_highest_density_and_the_mean_is_the_integral(mean, variance, column, positive):
    heads, fitted = one_column(*column, positive)
    eta = eta_of(mean, variance)
    u = np.linspace(mean - 14 * math.sqrt(variance), mean + 14 * math.sqrt(variance), 40_001)
    x = fitted.centre.item() + fitted.scale.item() * u
    if column is POSITIVE:
        x = np.exp(x) - fitted.offset.item()
    density = log_density(heads, fitted, eta, x).exp().numpy()
    step = np.abs(np.diff(x))[density[:-1].argmax()]
    assert heads.point(eta.unsqueeze(0)).item() == pytest.approx(x[density.argmax()], abs=2 * step)
    integral = np.trapezoid(x * density, x)
    assert heads.point(eta.unsqueeze(0), "mean").item() == pytest.approx(integral, rel=1e-5)
    assert heads.expectation(eta.unsqueeze(0)).item() == pytest.approx(integral, rel=1e-5)


@pytest.mark.parametrize("column", [FROM_ZERO, FROM_ONE, BINARY, CATEGORICAL, ORDINAL])
def test_the_mode_of_discrete_columns_is_the_most_probable_value(column):
    heads, fitted = one_column(*column)
    low, size = int(fitted.shift.item()), column[0].size if column[0].size > 1 else 100
    values = list(range(low, low + size))
    for seed in range(20):
        eta = raw_parameters(heads, 1, seed=seed)
        log_p = log_density(heads, fitted, eta[0], values)
        assert heads.point(eta).item() == values[log_p.argmax()]
        mean = heads.expectation(eta)[0]
        if column[0].kind == "count":
            assert mean.item() == pytest.approx((log_p.exp() * torch.tensor(values)).sum().item())
            assert heads.decide(mean).item() == heads.point(eta, "mean").item() == mean.item()
        else:
            probabilities = log_p.exp()[1:] if column[0].kind == "binary" else log_p.exp()
            torch.testing.assert_close(mean, probabilities)
            assert heads.decide(mean).item() == heads.point(eta).item() == heads.point(eta, "mean").item()


def test_draws_have_the_expectation_they_should():
    heads, _ = likelihood()
    eta = heads.constrain(raw_parameters(heads, 1, 1, size=0.5))
    # numbers of moderate spread, so that means of log-normals settle
    n = heads.n_normalised
    eta[..., : 2 * n] = natural(torch.linspace(-1, 1, n), torch.full((n,), 0.2))
    drawn = heads.sample(eta.expand(1, 40_000, -1))[0]
    expected = heads.expectation(eta)[0, 0]
    pieces = iter(expected.split([g.n_targets for g in heads.groups]))
    targets = torch.cat([next(pieces), next(pieces), next(pieces)])  # numbers, counts, binaries
    for inner, d in enumerate(heads.order):
        x = drawn[:, d]
        if SCHEMA.columns[d].kind in ("categorical", "ordinal"):
            continue
        error = (x.std() / len(x) ** 0.5).item()
        assert x.mean().item() == pytest.approx(targets[inner].item(), abs=5 * error), SCHEMA.columns[d].name
        assert error > 0


def test_normal_draws_have_the_spread_they_should():
    heads, fitted = one_column(*REAL)
    x = heads.sample(eta_of(1.0, 0.25).expand(1, 40_000, -1)).flatten().numpy()
    law = scipy.stats.norm(REAL[1].mean() + REAL[1].std(), 0.5 * REAL[1].std())
    assert scipy.stats.kstest(x, law.cdf).pvalue > 1e-3
    heads, fitted = one_column(*POSITIVE)
    x = heads.sample(eta_of(1.0, 0.25).expand(1, 40_000, -1)).flatten().numpy()
    scale = fitted.scale.item()
    assert scipy.stats.kstest(x, scipy.stats.lognorm(0.5 * scale, scale=math.exp(scale)).cdf).pvalue > 1e-3


def test_every_category_is_drawn_as_often_as_it_should():
    logits = torch.tensor([[0.0, 1.0, -6.0, 0.5, -1.0], [3.0, 0.0, 0.0, 0.0, -7.0]])
    codes = Categorical(2, 5).sample(logits.flatten().expand(100_000, -1))
    for i in range(2):
        found = torch.bincount(codes[:, i].long(), minlength=5)
        assert (found > 0).all()
        assert scipy.stats.chisquare(found.numpy(), 100_000 * logits[i].softmax(-1).numpy()).pvalue > 1e-3


def test_draws_belong_to_the_generator():
    heads, _ = likelihood()
    eta = heads.constrain(raw_parameters(heads, 1, 30))
    first, again, other = (heads.sample(eta, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_limits_are_kept_and_change_nothing_within():
    raw = table(40, missing=0.0)
    limits = torch.tensor(np.quantile(raw.values, [0.2, 0.8], axis=0))
    free, _ = likelihood(raw=raw)
    limited, _ = likelihood(raw=raw, limits=limits)
    eta = free.constrain(raw_parameters(free, 1, 200))
    numbers = [d for d, c in enumerate(SCHEMA) if c.kind.numeric]
    rest = [d for d in range(len(SCHEMA)) if d not in numbers]
    for ask in (
        lambda h: h.point(eta),
        lambda h: h.point(eta, "mean"),
        lambda h: h.sample(eta, torch.Generator().manual_seed(0)),
        lambda h: h.decide(h.expectation(eta)),
    ):
        wide, narrow = ask(free), ask(limited)
        assert (wide[..., numbers] != narrow[..., numbers]).flatten(0, -2).any(0).all()
        assert (narrow[..., numbers] == wide[..., numbers].clamp(*limits[:, numbers])).all()
        assert (narrow[..., rest] == wide[..., rest]).all()


def test_replicas_have_units_of_their_own():
    first, second = table(40, 1, 0.0), table(40, 2, 0.0)
    (one, a), (two, b) = likelihood(raw=first), likelihood(raw=second)
    both = type(one)(SCHEMA, [a, b])
    eta = one.constrain(raw_parameters(one, 2, 3, 7))
    for ask in ("point", "expectation"):
        found = getattr(both, ask)(eta)
        assert (found[0] == getattr(one, ask)(eta[:1])[0]).all()
        assert (found[1] == getattr(two, ask)(eta[1:])[0]).all()
        assert (found[0] != getattr(two, ask)(eta[:1])[0]).any()
    both.keep(torch.tensor([1]))
    assert (both.point(eta[1:]) == two.point(eta[1:])).all()


def test_targets_are_one_hot_in_the_inner_order():
    heads, fitted = likelihood()
    raw = table(9, missing=0.0)
    targets = heads.targets(fitted.encode(raw).values)
    position = 0
    for inner, d in enumerate(heads.order):
        column = SCHEMA.columns[d]
        assert heads.names[inner] == column.name
        width = column.size if column.kind in ("categorical", "ordinal") else 1
        part = targets[:, position : position + width]
        position += width
        if width > 1:
            assert (part == torch.eye(width)[raw.values[:, d].astype(int)]).all()
        else:
            assert (part[:, 0] == fitted.encode(raw).values[:, d]).all()
    assert position == heads.n_targets == targets.shape[1]


def test_fan_out_counts_the_parameters_of_a_column():
    heads, _ = likelihood()
    by_name = {"real": 2, "positive": 2, "count": 1, "binary": 1}
    for p, head in enumerate(heads.heads.tolist()):
        column = SCHEMA.columns[heads.order[head]]
        assert heads.fan_out[p] == by_name.get(column.kind, column.size)


def test_huge_means_stay_numbers():
    heads, _ = one_column(*POSITIVE)
    eta = eta_of(1e6, 1e3).unsqueeze(0)
    for found in (heads.point(eta), heads.point(eta, "mean"), heads.expectation(eta), heads.sample(eta)):
        assert found.isfinite().all()


def test_positive_columns_never_fall_below_zero():
    # log(1 + x) of a normal variable may be negative; decoding says 0 then, and so should guesses and draws
    heads, fitted = one_column(Column("x", "positive"), [0.0, 1, 7, 2], "log1p")
    eta = eta_of(-3.0, 0.3).expand(1, 50, -1)
    assert fitted.decode(np.array([[-3.0]])).item() == 0
    for found in (heads.point(eta), heads.point(eta, "mean"), heads.expectation(eta), heads.sample(eta)):
        assert (found == 0).all()


@pytest.mark.parametrize("offset", [1e-20, 1e-3, 0.5, 40.0])
def test_zeros_that_were_raised_come_back_as_zeros(offset):
    values = [0.0, 2 * offset, 5 * offset, 0.0, 3 * offset]
    heads, fitted = one_column(Column("x", "positive", zero_offset=offset), values)
    raw = RawTable(np.array(values)[:, None], np.ones((5, 1), dtype=bool))
    eta = certain(heads, fitted, raw, 1e14)
    for found in (
        heads.point(eta),
        heads.point(eta, "mean"),
        heads.decide(heads.expectation(eta)),
        heads.sample(eta),
    ):
        assert found[0, :, 0].tolist() == pytest.approx(values, rel=1e-4, abs=0)
