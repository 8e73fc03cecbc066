"""Replicas are models of their own; densities, rates and initial weights are what they should be."""

import math

import pytest
import torch
from torch import distributions as td
from torch.nn import functional as F

from evenhand.impartial import LinearBlock, Sum
from evenhand.tables.families import HIVAE, VAE, Latent, StackedLinear
from evenhand.tables.kinds import Preprocessing, TableLikelihood, encoder_inputs
from evenhand.tables.kinds._ordinal import ordinal_logits
from evenhand.tables.stack import Run

from .._inputs import SCHEMA, batch, build, rows_for, stack, table

SEEDS = [3, 7, 3]
MODELS = ["vae", "hivae", "vaem"]


def fitted_model(model, seeds, positive=None):
    """A model, inputs ``[R, N, I]``, targets and mask ``[N, ...]``; the same rows for all replicas."""
    data, fitted = batch(20, positive=positive or ("log1p" if model == "hivae" else "log"))
    heads = TableLikelihood(SCHEMA, [fitted])
    rows = rows_for(model, data, heads)
    inputs, targets, mask = rows.split(rows.record)
    return build(model, rows, heads, seeds), rows.seen(inputs, mask).expand(len(seeds), -1, -1), targets, mask


def latent_noise(model, k=4, rows=20, seed=1):
    width = model.n_latent + getattr(model, "n_components", 0)
    return torch.randn(1, k, rows, width, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_a_replica_is_the_model_of_its_seed(model, training):
    many, inputs, targets, _ = fitted_model(model, SEEDS)
    many.train(training)
    noise = latent_noise(many)
    latent = many.infer(inputs, noise.expand(3, -1, -1, -1))
    decoded = many.natural(many.decode(latent))
    log_p = many.likelihood.log_prob(decoded, targets, natural=True)
    for r, seed in enumerate(SEEDS):
        one, own, _, _ = fitted_model(model, [seed])
        one.train(training)
        for (name, ours), theirs in zip(many.named_parameters(), one.parameters(), strict=True):
            assert (ours[r] == theirs[0]).all(), name
        alone = one.infer(own, noise)
        for field in ("z", "log_q", "log_prior", "kl", "s"):
            if getattr(alone, field) is not None:
                torch.testing.assert_close(getattr(latent, field)[r], getattr(alone, field)[0])
        torch.testing.assert_close(decoded[r], one.natural(one.decode(alone))[0])
        torch.testing.assert_close(log_p[r], one.likelihood.log_prob(decoded[r], targets, natural=True))
        best = many.most_probable(inputs)
        torch.testing.assert_close(best.z[r], one.most_probable(own).z[0])
    assert not torch.allclose(latent.z[0], latent.z[1])


@pytest.mark.parametrize("model", MODELS)
def test_every_parameter_gets_a_gradient(model):
    module, inputs, targets, _ = fitted_model(model, SEEDS)
    latent = module.infer(inputs, latent_noise(module).expand(3, -1, -1, -1))
    natural = module.natural(module.decode(latent))
    log_p = module.likelihood.log_prob(natural, targets, natural=True).sum()
    (latent.kl.sum() - log_p).backward()
    for name, p in module.named_parameters():
        assert (p.grad.flatten(1) != 0).any(1).all(), name


@pytest.mark.parametrize("model", MODELS)
def test_saving_and_loading(model):
    one, inputs, _, _ = fitted_model(model, [1, 2])
    with torch.no_grad():
        one.infer(inputs, latent_noise(one))  # running averages
    two, _, _, _ = fitted_model(model, [3, 4])
    two.load_state_dict(one.state_dict())
    one.eval(), two.eval()
    assert (one.most_probable(inputs).z == two.most_probable(inputs).z).all()


# Initial weights


def test_the_vaes_initial_weights():
    heads = TableLikelihood(SCHEMA, [batch()[1]])
    model = VAE(30, heads, seeds=[0], n_latent=10, n_hidden=50)
    layers = [m for m in model.modules() if isinstance(m, StackedLinear)]
    assert len(layers) == 3 + 1 + 3 + 1
    for layer in layers:
        assert (layer.bias == 0.01).all()
    bound = {"tanh": 5 / 3, "relu": math.sqrt(2)}
    expected = [("tanh", 30, 50), ("tanh", 50, 50), ("tanh", 50, 50), (None, 50, 10)]
    expected += [("relu", 10, 50), ("relu", 50, 50), ("relu", 50, 50)]
    for layer, (activation, a, b) in zip(layers, expected, strict=False):
        limit = bound.get(activation, 1.0) * math.sqrt(6 / (a + b))
        assert 0.95 * limit < layer.weight.abs().max() <= limit
        assert layer.weight.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.08)
    sizes = {"real": 2, "positive": 2, "count": 1, "binary": 1}
    for p, d in enumerate(heads.heads.tolist()):
        column = SCHEMA.columns[heads.order[d]]
        limit = math.sqrt(2) * math.sqrt(6 / (50 + sizes.get(column.kind, column.size)))
        assert 0.8 * limit < model.head.weight[0, p].abs().max() <= limit


def test_hivaes_initial_weights():
    heads = TableLikelihood(SCHEMA, [batch(positive="log1p")[1]])
    model = HIVAE(30, heads, seeds=[0])
    for name, layer in model.named_modules():
        if isinstance(layer, StackedLinear):
            assert layer.weight.std().item() == pytest.approx(0.05, rel=0.15), name
            assert layer.weight.abs().max() > 0.1
            assert layer.bias is None or (layer.bias == 0).all()
    assert model.from_y.bias is None
    assert model.from_s.bias is None


# The latent variables


def test_the_vaes_rate_and_densities():
    model, inputs, _, _ = fitted_model("vae", [3])
    with torch.no_grad():
        model.posterior.bias.copy_(torch.tensor([[0.5, -1.0, -1.0, 0.7]]))  # away from the prior
        model.eval()
        mean, scale = model.encode(inputs)
        latent = model.infer(inputs, latent_noise(model, 20_000))
    q = td.Normal(mean, scale)
    torch.testing.assert_close(latent.kl, td.kl_divergence(q, td.Normal(0.0, 1.0)).sum(-1))
    torch.testing.assert_close(latent.log_q, q.log_prob(latent.z).sum(-1))
    torch.testing.assert_close(latent.log_prior, td.Normal(0.0, 1.0).log_prob(latent.z).sum(-1))
    rates = (latent.log_q - latent.log_prior)[0]
    error = rates.std(0) / 20_000**0.5
    assert ((rates.mean(0) - latent.kl[0]).abs() < 5 * error).all()
    assert latent.kl.min() > 0.05


def with_large_weights(model, factor=10):
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(factor)
    return model.eval()


def test_hivaes_rate_is_that_of_s_and_that_of_z():
    model, inputs, _, _ = fitted_model("hivae", [3])
    with_large_weights(model)
    with torch.no_grad():
        latent = model.infer(inputs, latent_noise(model, 20_000))
        log_pi = torch.log_softmax(model.component(inputs), -1)[0]
        rate_s = (log_pi.exp() * (log_pi + math.log(3))).sum(-1)
        rate_z = torch.zeros(20)
        for c in range(3):  # by enumeration of the components
            s = F.one_hot(torch.tensor(c), 3).double().expand(1, 20, 3)
            seen = torch.cat([inputs, s], -1)
            q = td.Normal(model.mean(seen), torch.exp(0.5 * model.log_variance(seen)))
            prior = td.Normal(model.prior_mean(s), 1.0)
            rate_z += log_pi[:, c].exp() * td.kl_divergence(q, prior).sum(-1)[0]
    assert (latent.s.sum(-1) == 1).all()
    assert ((latent.s == 0) | (latent.s == 1)).all()
    sampled = (latent.log_q - latent.log_prior)[0]
    exact = rate_s + rate_z
    assert ((sampled.mean(0) - exact).abs() < 5 * sampled.std(0) / 20_000**0.5).all()
    torch.testing.assert_close(latent.kl[0], exact, rtol=0.02, atol=0.02)  # its s are drawn
    frequency = latent.s[0].mean(0)
    assert ((frequency - log_pi.exp()).abs() < 5 * (log_pi.exp() / 20_000).sqrt() + 1e-3).all()
    assert rate_s.min() > 1e-3
    assert rate_z.min() > 1e-3


def test_the_most_probable_latent_variables():
    model, inputs, _, _ = fitted_model("vae", [3, 4])
    model.eval()
    best = model.most_probable(inputs)
    drawn = model.infer(inputs, latent_noise(model, 200).expand(2, -1, -1, -1))
    assert (best.z[:, 0] == model.encode(inputs)[0]).all()
    assert (best.log_q >= drawn.log_q).all()
    torch.testing.assert_close(best.kl, drawn.kl)


def test_hivaes_most_probable_latent_variables():
    model, inputs, _, _ = fitted_model("hivae", [3])
    with_large_weights(model)
    best = model.most_probable(inputs)
    component = model.component(inputs).argmax(-1)
    assert len(component.unique()) > 1
    assert (best.s[:, 0] == F.one_hot(component, 3)).all()
    drawn = model.infer(inputs, latent_noise(model, 300))
    same = (drawn.s == best.s).all(-1)
    assert (drawn.log_q.where(same, -torch.inf) <= best.log_q).all()
    torch.testing.assert_close(best.z[:, 0], model.mean(torch.cat([inputs, best.s[:, 0]], -1)))


def test_fixed_densities_leave_gradients_through_z_alone():
    model, inputs, _, _ = fitted_model("vae", [3])
    noise = latent_noise(model)
    free, fixed = (model.infer(inputs, noise, fixed_density=f) for f in (False, True))
    for field in ("z", "log_q", "log_prior", "kl"):
        assert (getattr(free, field) == getattr(fixed, field)).all()
    mean, scale = model.encode(inputs)
    z = mean.unsqueeze(1) + scale.unsqueeze(1) * noise
    expected = td.Normal(mean.detach().unsqueeze(1), scale.detach().unsqueeze(1)).log_prob(z).sum()
    weight = model.posterior.weight
    torch.testing.assert_close(
        torch.autograd.grad(fixed.log_q.sum(), weight)[0], torch.autograd.grad(expected, weight)[0]
    )
    # of a normal density at its own samples, only the scale's part is left
    assert torch.autograd.grad(free.log_q.sum(), weight)[0][0, :2].abs().max() < 1e-9


def test_a_frozen_decoder_gives_the_same_and_gets_no_gradients():
    model, inputs, _, _ = fitted_model("vae", [3, 4])
    latent = model.infer(inputs, latent_noise(model).expand(2, -1, -1, -1))
    block = LinearBlock(Sum(), model.likelihood.heads.tolist())
    for blocks in ((), (block,)):
        model.zero_grad()
        plain, frozen = model.decode(latent, blocks), model.decode(latent, blocks, frozen=True)
        assert (plain == frozen).all()
        frozen.square().sum().backward(retain_graph=True)
        for name, p in model.named_parameters():
            if name.startswith(("decoder", "head")):
                assert p.grad is None, name
        assert (model.posterior.weight.grad != 0).any()
        encoder = model.posterior.weight.grad.clone()
        model.zero_grad()
        plain.square().sum().backward(retain_graph=True)
        torch.testing.assert_close(model.posterior.weight.grad, encoder)
        assert (model.head.weight.grad != 0).any()


# HI-VAE's heads


def test_hivaes_heads_see_what_they_should():
    """Locations of column d see y_d and s; scales and thresholds see s alone."""
    model, _, _, _ = fitted_model("hivae", [3])
    z = torch.randn(1, 1, 1, 3, requires_grad=True)
    y = model.to_y(z.flatten(1, 2)).detach().requires_grad_()
    s = torch.rand(1, 1, 1, 3, requires_grad=True)

    def to_y(features, weight, bias):
        return y

    blocks = (to_y, lambda features, weight: features @ weight.mT)
    parameters = model.decode(Latent(z, z, z, z, s), blocks)
    natural = model.natural(parameters)
    columns = natural.shape[-1]
    for p in range(columns):
        at_y, at_s = torch.autograd.grad(natural[..., p].sum(), [y, s], retain_graph=True, allow_unused=True)
        column = SCHEMA.columns[model.likelihood.order[model.likelihood.heads[p]]]
        first_category = (
            column.kind == "categorical"
            and p == (model.likelihood.heads == model.likelihood.heads[p]).nonzero().min()
        )
        second = column.kind in ("real", "positive") and p >= model.likelihood.n_normalised
        owners = (at_y.flatten() != 0).nonzero().flatten() // model.n_y
        if first_category or second:
            assert not len(owners)
        else:
            assert (owners == model.likelihood.heads[p]).all()
            assert len(owners) == model.n_y
        assert (at_s != 0).any() == (not first_category)


def test_hivaes_natural_parameters_by_hand():
    model, _, _, _ = fitted_model("hivae", [3])
    heads = model.likelihood
    locations = torch.randn(1, 2, 3, len(model.owners))
    scales = 2 * torch.randn(1, 2, 3, len(model.scale_owners))
    eta = model.natural(torch.cat([locations, scales], -1))
    for inner, d in enumerate(heads.order):
        column = SCHEMA.columns[d]
        own = eta[..., heads.heads == inner]
        place = locations[..., [i for i, o in enumerate(model.owners) if o == inner]]
        spread = scales[..., [i for i, o in enumerate(model.scale_owners) if o == inner]]
        if column.kind in ("real", "positive"):
            variance = F.softplus(spread).clamp(1e-3, 1.0 if column.kind == "positive" else 1e20)
            expected = torch.cat([place / variance, -0.5 / variance], -1)
        elif column.kind == "count":
            expected = F.softplus(place).log()
        elif column.kind == "binary":
            expected = place
        elif column.kind == "ordinal":
            expected = ordinal_logits(place, spread)
        else:
            expected = torch.cat([torch.zeros_like(place[..., :1]), place], -1)
        torch.testing.assert_close(own, expected)


@pytest.mark.parametrize("seed", range(3))
def test_statistics_carried_back_are_the_likelihood_of_normalised_numbers(seed):
    model, _, targets, mask = fitted_model("hivae", [seed])
    model.train()
    n = model.likelihood.n_normalised
    targets, mask = targets.unsqueeze(0).clone(), mask.unsqueeze(0)
    targets[..., :n] = 2 + torch.linspace(0.5, 4, n) * targets[..., :n]  # a batch unlike the training data
    mean, deviation = model.statistics(targets, mask)
    for i in range(n):
        seen = targets[0, mask[0, :, i] == 1, i]
        assert mean[0, 0, i].item() == pytest.approx(seen.mean().item())
        assert deviation[0, 0, i].item() == pytest.approx(seen.std(correction=0).item())
    parameters = model.decode(model.infer(torch.rand(1, 20, model.component.weight.shape[-1]), latent_noise(model)))
    carried = model.log_prob(parameters, targets, (mean, deviation))
    plain = model.natural(parameters)
    variance = -0.5 / plain[..., n : 2 * n]
    normalised = td.Normal(plain[..., :n] * variance, variance.sqrt()).log_prob((targets[..., :n] - mean) / deviation)
    torch.testing.assert_close(carried[..., :n], normalised - deviation.log())
    torch.testing.assert_close(carried[..., n:], model.log_prob(parameters, targets)[..., n:])


def test_statistics_belong_to_training():
    model, _, targets, mask = fitted_model("hivae", [0])
    assert model.train().statistics(targets.unsqueeze(0), mask.unsqueeze(0)) is not None
    assert model.eval().statistics(targets.unsqueeze(0), mask.unsqueeze(0)) is None
    constant = model.train().statistics(torch.ones(1, 20, targets.shape[-1]), torch.ones(1, 20, len(SCHEMA)))
    assert (constant[1] == 1e-3).all()  # nothing is divided by zero
    nobody = model.statistics(targets.unsqueeze(0), torch.zeros(1, 20, len(SCHEMA)))
    assert all(t.isfinite().all() for t in nobody)


def test_hivaes_temperature_falls_by_the_epoch():
    training = stack([Run(0, Sum())], "hivae")
    per_epoch = training.steps_per_epoch
    assert per_epoch == 60 // 16
    for step in range(3 * per_epoch):
        training.train(1)
        assert training.model.temperature.item() == pytest.approx(1 - 0.01 * (step // per_epoch))
    for epoch, expected in ((50, 0.5), (99, 0.01), (100, 1e-3), (400, 1e-3)):
        training.steps.fill_(epoch * per_epoch)
        training.train(1)
        assert training.model.temperature.item() == pytest.approx(expected)


def test_a_low_temperature_decides():
    model, inputs, _, _ = fitted_model("hivae", [3])
    model.train()
    noise = latent_noise(model)
    sharpness = []
    for temperature in (1.0, 0.1, 1e-3):
        model.temperature.fill_(temperature)
        s = model.infer(inputs, noise).s
        torch.testing.assert_close(s.sum(-1), torch.ones(1, 4, 20))
        sharpness.append(s.amax(-1).mean().item())
    assert sharpness[0] < sharpness[1] < sharpness[2]
    assert sharpness[2] > 0.99
    model.eval()
    assert (model.infer(inputs, noise).s.argmax(-1) == s.argmax(-1)).all()


# What an encoder sees


@pytest.mark.parametrize("encoding", ["one-hot", "codes", "hivae"])
def test_encodings(encoding):
    raw = table(12, missing=0.0)
    fitted = Preprocessing.fit(raw, SCHEMA)
    heads = TableLikelihood(SCHEMA, [fitted])
    values = fitted.encode(raw).values.double()
    inputs, owners = encoder_inputs(values, heads, encoding)
    assert inputs.shape[1] == len(owners)
    for inner, d in enumerate(heads.order):
        column, x = SCHEMA.columns[d], values[:, d]
        own = inputs[:, owners == inner]
        if encoding == "codes" or column.kind in ("real", "positive"):
            expected = x.unsqueeze(-1)
        elif column.kind == "count":
            expected = torch.log(1 + x).unsqueeze(-1)
        elif column.kind == "binary" and encoding == "one-hot":
            expected = x.unsqueeze(-1)
        elif column.kind == "ordinal" and encoding == "hivae":
            expected = torch.tensor([[float(r <= code) for r in range(column.size)] for code in x])
        else:
            expected = torch.tensor([[float(r == code) for r in range(column.size)] for code in x])
        assert (own == expected).all(), column.name
