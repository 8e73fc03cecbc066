"""All heads of a table: slopes against autograd, guesses against brute force, the order of columns."""

import numpy as np
import pytest
import torch
from torch import distributions as td
from torch.nn import functional as F

from evenhand.tables.kinds._gaussian import natural
from evenhand.tables.schema import Schema

from .._inputs import SCHEMA, likelihood, log_density, one_column, raw_parameters, table
from ._columns import BINARY, CATEGORICAL, FROM_ONE, FROM_ZERO, ORDINAL, certain

FLOOR = 1e-4


# Densities


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


# Guesses and draws in original units


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
