"""Bounds on a linear-Gaussian model, whose evidence and posterior are known."""

import math

import pytest
import torch
from torch import distributions as td

from evenhand.tables.objectives import dreg, elbo, iwae

SPREAD = 0.5  # standard deviation of the noise


class Linear:
    """z ~ N(0, I), x = W z + b + noise; the columns of W are orthogonal, so that the posterior is diagonal."""

    def __init__(self, n_columns=4, n_latent=2, rows=3):
        basis, _ = torch.linalg.qr(torch.randn(n_columns, n_latent))
        self.w = basis * torch.tensor([1.5, 0.7])
        self.b = torch.randn(n_columns)
        self.x = torch.randn(rows, n_columns)
        covariance = self.w @ self.w.mT + SPREAD**2 * torch.eye(n_columns)
        self.evidence = td.MultivariateNormal(self.b, covariance).log_prob(self.x)
        precision = torch.eye(n_latent) + self.w.mT @ self.w / SPREAD**2
        assert (precision - precision.diag().diag()).abs().max() < 1e-12
        self.scale = precision.diag().rsqrt()
        self.mean = (self.x - self.b) @ self.w / SPREAD**2 / precision.diag()  # [rows, L]

    def log_likelihood(self, z, w=None, b=None):
        w, b = self.w if w is None else w, self.b if b is None else b
        return td.Normal((z.unsqueeze(-2) * w).sum(-1) + b, SPREAD).log_prob(self.x).sum(-1)

    def log_weights(self, z, mean, scale):
        return self.log_likelihood(z) + log_prior(z) - log_q(z, mean, scale)


def log_prior(z):
    return td.Normal(0.0, 1.0).log_prob(z).sum(-1)


def log_q(z, mean, scale):
    return td.Normal(mean, scale).log_prob(z).sum(-1)


def kl(mean, scale):
    return td.kl_divergence(td.Normal(mean, scale), td.Normal(0.0, 1.0)).sum(-1)


def corners(mean, scale):
    """2 L points with equal weights at which means of quadratic functions are those of N(mean, scale^2)."""
    n = mean.shape[-1]
    directions = math.sqrt(n) * torch.cat([torch.eye(n), -torch.eye(n)]).unsqueeze(1)
    return mean + scale * directions  # [2 L, rows, L]


def test_the_elbo_at_the_exact_posterior_is_the_evidence():
    model = Linear()
    z = corners(model.mean, model.scale)
    found = elbo(model.log_likelihood(z), kl(model.mean, model.scale.expand_as(model.mean)))
    torch.testing.assert_close(found, model.evidence)
    rate = log_q(z, model.mean, model.scale) - log_prior(z)
    torch.testing.assert_close(elbo(model.log_likelihood(z), rate), model.evidence)


@pytest.mark.parametrize("k", [1, 2, 7, 100])
def test_iwae_at_the_exact_posterior_is_the_evidence_whatever_is_drawn(k):
    model = Linear()
    for _ in range(3):
        z = model.mean + model.scale * torch.randn(k, 3, 2)
        torch.testing.assert_close(iwae(model.log_weights(z, model.mean, model.scale)), model.evidence)


def test_bounds_rise_towards_the_evidence():
    model = Linear()
    mean, scale = model.mean + 0.3, 1.5 * model.scale
    weights = model.log_weights(mean + scale * torch.randn(4000, 50, 3, 2), mean, scale)
    gap = (model.evidence - elbo(model.log_likelihood(corners(mean, scale)), kl(mean, scale.expand_as(mean)))).mean()
    expected = td.kl_divergence(td.Normal(mean, scale), td.Normal(model.mean, model.scale)).sum(-1).mean()
    torch.testing.assert_close(gap, expected)  # the gap of the ELBO is KL(q || posterior)
    bounds = [iwae(weights[:, :k]).mean(-1) for k in (1, 5, 50)]
    errors = [b.std() / len(b) ** 0.5 for b in bounds]
    assert abs(bounds[0].mean() - (model.evidence.mean() - gap)) < 5 * errors[0]
    steps = [bounds[0].mean(), bounds[1].mean(), bounds[2].mean(), model.evidence.mean()]
    for lower, higher, error in zip(steps, steps[1:], errors, strict=False):
        assert higher - lower > 3 * error


def test_iwae_with_one_sample_is_the_elbo_with_its_sampled_rate():
    log_likelihood, rate = torch.randn(2, 1, 5), torch.randn(2, 1, 5)
    assert (iwae(log_likelihood - rate) == elbo(log_likelihood, rate)).all()


def test_iwae_is_the_logarithm_of_the_mean_weight():
    log_weights = torch.randn(2, 6, 5)
    torch.testing.assert_close(iwae(log_weights), log_weights.exp().mean(-2).log())
    assert iwae(log_weights - 5000).isfinite().all()


@pytest.mark.parametrize("sampled", [False, True])
def test_the_kl_weight_scales_the_rate(sampled):
    log_likelihood, rate = torch.randn(3, 4, 5), torch.rand(3, 4, 5) if sampled else torch.rand(3, 5)
    mean_rate = rate.mean(1) if sampled else rate
    for weight in (0.0, 0.3, 2.0):
        torch.testing.assert_close(elbo(log_likelihood, rate, weight), log_likelihood.mean(1) - weight * mean_rate)
    weights = torch.tensor([0.0, 0.3, 2.0])  # one for every replica
    found = elbo(log_likelihood, rate, weights)
    for r in range(3):
        torch.testing.assert_close(found[r], elbo(log_likelihood[r], rate[r], weights[r].item()))


# DReG


def gradients(model, estimator, mean, log_scale, noise):
    """Per row the gradients of the bound in the encoder's and the decoder's parameters; noise is [K, rows, L]."""
    phi = [mean.clone().requires_grad_(), log_scale.clone().requires_grad_()]
    theta = [
        model.w.expand(noise.shape[1], -1, -1).clone().requires_grad_(),
        model.b.expand(noise.shape[1], -1).clone().requires_grad_(),
    ]
    scale = phi[1].exp()
    z = phi[0] + scale * noise
    if estimator == "iwae":
        bound = iwae(model.log_likelihood(z, *theta) + log_prior(z) - log_q(z, phi[0], scale))
        bound.sum().backward()
    else:
        log_weights = model.log_weights(z, phi[0].detach(), scale.detach())
        encoder, decoder = dreg(log_weights, model.log_likelihood(z.detach(), *theta))
        (encoder + decoder).sum().backward()
    return torch.cat([p.grad for p in phi], -1), torch.cat([p.grad.flatten(1) for p in theta], -1)


def test_dregs_gradients_are_those_of_iwae():
    model = Linear(rows=1)
    n, k = 60_000, 5
    noise = torch.randn(k, n, 2)
    mean, log_scale = (model.mean + 0.3).expand(n, -1), (1.5 * model.scale).log().expand(n, -1)
    (encoder, decoder), (plain, plain_decoder) = (
        gradients(model, estimator, mean, log_scale, noise) for estimator in ("dreg", "iwae")
    )
    torch.testing.assert_close(decoder, plain_decoder)  # sample by sample
    difference = encoder - plain
    error = difference.std(0) / n**0.5
    assert (difference.mean(0).abs() < 5 * error).all()
    assert (plain.mean(0).abs() > 10 * plain.std(0) / n**0.5).any()  # and there is something to compare
    assert (encoder.var(0) < plain.var(0)).all()


def test_dregs_gradients_vanish_at_the_exact_posterior():
    model = Linear(rows=1)
    noise = torch.randn(5, 1000, 2)
    mean, log_scale = model.mean.expand(1000, -1), model.scale.log().expand(1000, -1)
    encoder, _ = gradients(model, "dreg", mean, log_scale, noise)
    assert encoder.abs().max() < 1e-10
    plain, _ = gradients(model, "iwae", mean, log_scale, noise)
    assert plain.std(0).min() > 0.1


def test_dregs_weights_are_held_constant():
    log_weights, log_likelihood = torch.randn(2, 4, 3, requires_grad=True), torch.randn(2, 4, 3, requires_grad=True)
    encoder, decoder = dreg(log_weights, log_likelihood)
    (encoder + decoder).sum().backward()
    share = log_weights.detach().softmax(1)
    torch.testing.assert_close(log_weights.grad, share.square())
    torch.testing.assert_close(log_likelihood.grad, share)
