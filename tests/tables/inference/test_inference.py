"""What models say about rows, against the same said by hand."""

import math

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from torch import distributions as td

from evenhand.tables.frames import RawTable
from evenhand.tables.inference import (
    _inference,
    draws,
    encode,
    expectations,
    log_likelihood,
    rates_and_bounds,
    reconstruct,
)
from evenhand.tables.kinds import Batch, Preprocessing, TableLikelihood
from evenhand.tables.schema import Column, Schema
from evenhand.tables.stack import Rows

from .._inputs import SCHEMA, batch, build, garbled, rows_for

MODELS = ["vae", "hivae", "vaem"]
INDEX = torch.tensor([5, 0, 17, 17, 3])


def fitted_model(model, seeds=(0, 1), data=None):
    """A model away from its start, and rows."""
    positive = "log1p" if model == "hivae" else "log"
    given, fitted = batch(20, positive=positive)
    heads = TableLikelihood(SCHEMA, [fitted])
    rows = rows_for(model, given if data is None else data, heads)
    module = build(model, rows, heads, list(seeds))
    with torch.no_grad():
        for p in module.parameters():
            p.mul_(3 if model == "hivae" else 1.2)
        if model == "vae":
            module.normalise(
                torch.randn(1, 30, rows.n_inputs, generator=generator()).expand(len(seeds), -1, -1)
            )  # running averages
    return module, rows, fitted


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def by_hand(module, rows, index, visible=None, n_samples=None, *, seed=0, common=False):
    """Samples (or the mode), natural parameters, targets and known cells, in evaluation mode.

    Replicas have the same noise, and all rows too if it is common.
    """
    inputs, targets, known = rows.split(rows.record[index])
    if visible is not None:
        known = known * visible
    seen = (inputs * known[..., rows.owners]).expand(len(next(module.parameters())), -1, -1)
    module.eval()
    if n_samples is None:
        latent = module.most_probable(seen)
    else:
        width = module.n_latent + getattr(module, "n_components", 0)
        noise = torch.randn(n_samples, 1 if common else len(index), width, generator=generator(seed))
        latent = module.infer(seen, noise.expand(len(seen), -1, len(index), -1))
    return latent, module.natural(module.decode(latent)), targets, known


def some_visible(module, n=len(INDEX)):
    return (torch.rand(n, module.likelihood.n, generator=generator(4)) < 0.6).double()


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_reconstructions_are_modes_at_the_mode(model, hidden):
    module, rows, _ = fitted_model(model)
    visible = some_visible(module) if hidden else None
    found = reconstruct(module, rows, INDEX, visible)
    _, eta, _, _ = by_hand(module, rows, INDEX, visible)
    assert found.shape == (2, 5, len(SCHEMA))
    torch.testing.assert_close(found, module.likelihood.point(eta)[:, 0])
    assert hidden == (not torch.equal(found, reconstruct(module, rows, INDEX)))


def weights_by_hand(module, latent, eta, targets, known):
    """Normalised importance weights ``[R, K, n]``, with one pass over columns at a time."""
    log_p = module.likelihood.log_prob(eta, targets, natural=True)
    log_w = latent.log_prior - latent.log_q
    for d in range(module.likelihood.n):
        log_w = log_w + torch.where(known[:, d] == 1, log_p[..., d], 0.0)
    return log_w


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_expectations_are_averages(model, weighted):
    module, rows, _ = fitted_model(model)
    visible = some_visible(module)
    found = expectations(module, rows, INDEX, visible, n_samples=6, weighted=weighted, generator=generator())
    latent, eta, targets, known = by_hand(module, rows, INDEX, visible, 6, common=True)
    values = module.likelihood.expectation(eta)
    shares = torch.full((2, 6, 5), 1 / 6)
    if weighted:
        weights = weights_by_hand(module, latent, eta, targets, known).exp()
        shares = weights / weights.sum(1, keepdim=True)
    expected = sum(shares[:, k].unsqueeze(-1) * values[:, k] for k in range(6))
    torch.testing.assert_close(found, expected)
    other = expectations(module, rows, INDEX, visible, n_samples=6, weighted=not weighted, generator=generator())
    assert not torch.allclose(found, other)


@pytest.mark.parametrize("model", MODELS)
def test_no_samples_are_the_mode(model):
    module, rows, _ = fitted_model(model)
    visible = some_visible(module)
    _, eta, _, _ = by_hand(module, rows, INDEX, visible)
    for weighted in (False, True):
        found = expectations(module, rows, INDEX, visible, n_samples=0, weighted=weighted)
        torch.testing.assert_close(found, module.likelihood.expectation(eta)[:, 0])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("ask", [expectations, log_likelihood])
def test_what_a_row_gets_does_not_depend_on_its_neighbours(model, ask):
    module, rows, _ = fitted_model(model)
    many = ask(module, rows, INDEX, n_samples=5, generator=generator())
    for i in range(len(INDEX)):
        one = ask(module, rows, INDEX[i : i + 1], n_samples=5, generator=generator())
        torch.testing.assert_close(many[:, i], one[:, 0])


@pytest.mark.parametrize("model", MODELS)
def test_the_likelihood_is_an_importance_sum(model):
    module, rows, fitted = fitted_model(model)
    found = log_likelihood(module, rows, INDEX, n_samples=7, generator=generator())
    latent, eta, targets, known = by_hand(module, rows, INDEX, None, 7, common=True)
    log_w = weights_by_hand(module, latent, eta, targets, known)
    assert found.numpy() == pytest.approx(logsumexp(log_w.detach().numpy(), 1) - math.log(7))
    data, _ = batch(20, positive="log1p" if model == "hivae" else "log")
    base = module.likelihood.base(data.values.double(), fitted)
    units = log_likelihood(module, rows, INDEX, base, n_samples=7, generator=generator())
    order = module.likelihood.order
    extra = [sum(base[i, d] for d in range(len(order)) if data.mask[i, order[d]]).item() for i in INDEX]
    assert (units - found).numpy() == pytest.approx(np.broadcast_to(extra, (2, 5)))


def linear_gaussian():
    """Real columns only, and a decoder that is linear where it is used: x = W z + b + noise."""
    schema = Schema((Column("a", "real"), Column("b", "real"), Column("c", "real")))
    random = np.random.default_rng(0)
    raw = RawTable(random.normal(5, 3, (12, 3)), random.random((12, 3)) < 0.8)
    fitted = Preprocessing.fit(raw, schema)
    heads = TableLikelihood(schema, [fitted])
    data = fitted.encode(raw)
    rows = Rows.encode(data, heads)
    module = build("vae", rows, heads, [0])
    w, b = torch.tensor([[0.8, -0.3], [0.5, 0.9], [-0.7, 0.4]]), torch.tensor([0.2, -0.1, 0.3])
    precision = 4.0
    far = 50.0  # far enough from ReLU's bend
    raw_second = math.log(math.expm1(0.5 * precision - 1e-4))
    with torch.no_grad():
        for p in module.parameters():
            p.zero_()
        module.normalise.weight.fill_(1.0)
        first, second = module.decoder[0], module.decoder[2]
        first.weight[0, :2], first.bias[0] = torch.eye(2), far
        second.weight[0, :2, :2] = torch.eye(2)
        head = module.head
        head.weight[0, :3, :2], head.bias[0, :3] = precision * w, precision * (b - far * w.sum(1))
        head.bias[0, 3:] = raw_second
        module.posterior.bias[0, 2:] = math.log(math.expm1(1.2))  # q(z|x) = N(0, 1.2^2)
    return module, rows, data, fitted, w, b, precision


def test_the_likelihood_of_a_linear_gaussian_model_is_known():
    module, rows, data, fitted, w, b, precision = linear_gaussian()
    base = module.likelihood.base(data.values.double(), fitted)
    found = log_likelihood(module, rows, torch.arange(12), base, n_samples=20_000, generator=generator())
    covariance = w @ w.mT + torch.eye(3) / precision
    for i in range(12):
        seen = data.mask[i]
        scale, centre = fitted.scale[seen], fitted.centre[seen]
        x = centre + scale * data.values[i, seen].double()
        law = td.MultivariateNormal(centre + scale * b[seen], scale.unsqueeze(-1) * covariance[seen][:, seen] * scale)
        assert found[0, i].item() == pytest.approx(law.log_prob(x).item(), abs=0.1)
    # the bound lies below, and its rate is that of N(0, 1.2^2)
    rate, _, _ = rates_and_bounds(module, rows, torch.arange(12), generator=generator())
    assert rate.numpy() == pytest.approx(2 * (0.5 * (1.44 - 1) - math.log(1.2)), rel=1e-4)


def test_weighted_expectations_of_a_linear_gaussian_model_are_known():
    """The conditional mean of a cell given the others, though the encoder knows nothing."""
    module, rows, data, fitted, w, b, precision = linear_gaussian()
    covariance = w @ w.mT + torch.eye(3) / precision
    full = [i for i in range(12) if data.mask[i].all()]
    visible = torch.tensor([1.0, 1, 0]).expand(len(full), -1)
    index = torch.tensor(full)
    found = expectations(module, rows, index, visible, n_samples=20_000, generator=generator())[0]
    u = data.values[index].double()
    gain = covariance[2, :2] @ covariance[:2, :2].inverse()
    mean = b[2] + (u[:, :2] - b[:2]) @ gain
    expected = fitted.centre[2] + fitted.scale[2] * mean
    assert found[:, 2].numpy() == pytest.approx(expected.numpy(), abs=0.15)
    spread = (covariance[2, 2] - gain @ covariance[:2, 2]) * fitted.scale[2] ** 2
    drawn = draws(module, rows, index[:2], visible[:2], n_draws=4000, n_samples=4000, generator=generator())[
        0, :, :, 2
    ]
    assert drawn.mean(0).numpy() == pytest.approx(expected[:2].numpy(), abs=0.25)
    assert drawn.var(0).numpy() == pytest.approx([spread.item()] * 2, rel=0.2)
    plain = draws(module, rows, index[:2], visible[:2], n_draws=4000, weighted=False, generator=generator())[
        0, :, :, 2
    ]
    marginal = (1.44 * w[2].square().sum() + 1 / precision) * fitted.scale[2] ** 2
    assert plain.var(0).numpy() == pytest.approx([marginal.item()] * 2, rel=0.1)
    plain = expectations(module, rows, index, visible, n_samples=2000, weighted=False, generator=generator())[0]
    assert np.abs(plain[:, 2].numpy() - expected.numpy()).max() > 1  # without weights the rows are all alike


@pytest.mark.parametrize("model", MODELS)
def test_draws_are_draws_of_the_samples(model):
    module, rows, _ = fitted_model(model)
    found = draws(module, rows, INDEX, n_draws=3, n_samples=4, generator=generator())
    assert found.shape == (2, 3, 5, len(SCHEMA))
    again = draws(module, rows, INDEX, n_draws=3, n_samples=4, generator=generator())
    assert torch.equal(found, again)
    for d, column in enumerate(SCHEMA):
        if not column.kind.numeric or column.kind == "count":
            assert torch.equal(found[..., d], found[..., d].round())
        if column.kind.nominal:
            assert ((found[..., d] >= 0) & (found[..., d] < column.size)).all()


@pytest.mark.parametrize("model", MODELS)
def test_rates_and_bounds(model):
    module, rows, _ = fitted_model(model)
    rate, bound, by_column = rates_and_bounds(module, rows, INDEX, generator=generator())
    latent, eta, targets, known = by_hand(module, rows, INDEX, None, 1)
    log_p = torch.where(known == 1, module.likelihood.log_prob(eta, targets, natural=True)[:, 0], 0.0)
    torch.testing.assert_close(rate, latent.kl)
    torch.testing.assert_close(bound, log_p.sum(-1) - latent.kl)
    torch.testing.assert_close(by_column, log_p.sum(1) / known.sum(-2).clamp(min=1))


@pytest.mark.parametrize("model", MODELS)
def test_codes(model):
    module, rows, _ = fitted_model(model)
    latent, *_ = by_hand(module, rows, INDEX)
    torch.testing.assert_close(encode(module, rows, INDEX), latent.z[:, 0])
    latent, *_ = by_hand(module, rows, INDEX, None, 1, seed=3)
    torch.testing.assert_close(encode(module, rows, INDEX, generator=generator(3)), latent.z[:, 0])


# What must not matter


DRAWS = 2  # their place in what follows


def everything(module, rows, index, visible=None, seed=0):
    return [
        reconstruct(module, rows, index, visible),
        expectations(module, rows, index, visible, n_samples=4, generator=generator(seed)),
        draws(module, rows, index, visible, n_draws=2, n_samples=4, generator=generator(seed)),
        log_likelihood(module, rows, index, n_samples=4, generator=generator(seed)),
        *rates_and_bounds(module, rows, index, generator=generator(seed)),
        encode(module, rows, index),
    ]


@pytest.mark.parametrize("model", MODELS)
def test_missing_cells_are_not_used(model):
    clean, _ = batch(20, positive="log1p" if model == "hivae" else "log")
    found = [everything(*fitted_model(model, data=data)[:2], INDEX) for data in (clean, garbled(clean))]
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("model", MODELS)
def test_hidden_cells_are_not_used(model):
    """Neither by the encoder nor by the weights."""
    data, _ = batch(20, missing=0.0, positive="log1p" if model == "hivae" else "log")
    module, rows, _ = fitted_model(model, data=data)
    visible = torch.zeros(20, len(SCHEMA))
    visible[:, ::2] = 1
    hidden = visible[:, module.likelihood.inverse] == 0
    other = garbled(Batch(data.values, ~hidden), 5)
    changed = rows_for(model, Batch(other.values, data.mask), module.likelihood)
    index = torch.arange(20)
    for ask in (
        lambda r: reconstruct(module, r, index, visible),
        lambda r: expectations(module, r, index, visible, n_samples=4, generator=generator()),
        lambda r: draws(module, r, index, visible, n_samples=4, generator=generator()),
    ):
        assert torch.equal(ask(rows), ask(changed))
    assert not torch.equal(reconstruct(module, rows, index), reconstruct(module, changed, index))


@pytest.mark.parametrize("model", MODELS)
def test_chunks_do_not_change_anything(model, monkeypatch):
    module, rows, _ = fitted_model(model)
    index, visible = torch.arange(20).flip(0), some_visible(module, 20)

    def ask(index, visible):
        return [
            reconstruct(module, rows, index, visible),
            expectations(module, rows, index, visible, n_samples=4, generator=generator()),
            expectations(module, rows, index, visible, n_samples=0),
            log_likelihood(module, rows, index, n_samples=4, generator=generator()),
            encode(module, rows, index),
        ]

    whole = ask(index, visible)
    chunks = count_chunks(module, monkeypatch, 7)
    for found, expected in zip(ask(index, visible), whole, strict=True):
        torch.testing.assert_close(found, expected)
    assert max(chunks) == 7


@pytest.mark.parametrize("model", MODELS)
def test_random_answers_of_chunks_are_those_of_the_parts(model, monkeypatch):
    module, rows, _ = fitted_model(model)
    index, visible = torch.arange(20).flip(0), some_visible(module, 20)
    for ask, axis in (
        (lambda i, v, g: draws(module, rows, i, v, n_draws=2, n_samples=4, generator=g), 2),
        (lambda i, v, g: rates_and_bounds(module, rows, i, generator=g)[1], 1),
        (lambda i, v, g: encode(module, rows, i, generator=g), 1),
    ):
        source = generator()
        slices = [slice(start, start + 7) for start in (0, 7, 14)]
        parts = torch.cat([ask(index[part], visible[part], source) for part in slices], axis)
        with monkeypatch.context() as patch:
            chunks = count_chunks(module, patch, 7)
            torch.testing.assert_close(ask(index, visible, generator()), parts)
        assert chunks == [7, 7, 6]


def count_chunks(module, patch, size):
    """Chunks of some rows, whatever the number of samples; returns where their sizes will stand."""
    sizes, original = [], _inference._chunks

    def chunks(rows, index, visible, replicas, _):
        for chunk in original(rows, index, visible, replicas, size):
            sizes.append(chunk[0].shape[1])
            yield chunk

    patch.setattr(_inference, "_chunks", chunks)
    return sizes


def test_the_budget_decides_on_the_size_of_chunks(monkeypatch):
    module, rows, _ = fitted_model("vae")
    sizes = []
    original = module.most_probable
    module.most_probable = lambda seen: sizes.append(seen.shape[1]) or original(seen)
    monkeypatch.setattr(_inference, "BUDGET", 3 * 2 * module.likelihood.n_parameters)
    reconstruct(module, rows, torch.arange(8))
    monkeypatch.setattr(_inference, "BUDGET", 1)
    reconstruct(module, rows, torch.arange(2))
    assert sizes == [3, 3, 2, 1, 1]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("per_replica", ["index", "visible", "both"])
def test_replicas_with_rows_or_cells_of_their_own(model, per_replica):
    module, rows, _ = fitted_model(model)
    index = torch.stack([INDEX, INDEX.flip(0)]) if per_replica != "visible" else INDEX
    visible = torch.stack([some_visible(module), 1 - some_visible(module)])
    visible = visible if per_replica != "index" else visible[0]
    # as many samples as rows: shapes that fit by chance
    for ask in (
        lambda i, v: reconstruct(module, rows, i, v),
        lambda i, v: expectations(module, rows, i, v, n_samples=5, generator=generator()),
    ):
        found = ask(index, visible)
        for r in range(2):
            own = ask(index if index.ndim == 1 else index[r], visible if visible.ndim == 2 else visible[r])[r]
            torch.testing.assert_close(found[r], own)
    if per_replica == "index":
        found = log_likelihood(module, rows, index, n_samples=5, generator=generator())
        for r in range(2):
            own = log_likelihood(module, rows, index[r], n_samples=5, generator=generator())[r]
            torch.testing.assert_close(found[r], own)


@pytest.mark.parametrize("model", MODELS)
def test_a_replica_is_judged_as_if_alone(model):
    both, rows, _ = fitted_model(model, (0, 1))
    for r in range(2):
        alone, _, _ = fitted_model(model, (r,))
        answers = zip(everything(both, rows, INDEX), everything(alone, rows, INDEX), strict=True)
        for i, (together, own) in enumerate(answers):
            if i != DRAWS:  # draws of cells are other ones for every replica
                torch.testing.assert_close(together[r], own[0])


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_of_the_model_is_left_as_it_was(training):
    module, rows, _ = fitted_model("vae")
    module.train(training)
    before = module.normalise.mean.clone()
    for found in everything(module, rows, INDEX):
        assert not found.requires_grad
    assert module.training == training
    assert torch.equal(module.normalise.mean, before)
