"""Expected information about a target: the mutual information where q is exact, and brute force where it is not."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import distributions as td

from evenhand.tables.families import FAMILIES, Family, Latent, StackedLinear
from evenhand.tables.frames import RawTable
from evenhand.tables.inference import rewards
from evenhand.tables.kinds._gaussian import FLOOR
from evenhand.tables.schema import Column, Schema
from evenhand.tables.stack import Preparation

from .._inputs import SCHEMA, table

TARGET = 2


class OneFactor(Family):
    """One latent variable; every column has a loading and a bias. The encoder is linear in the visible cells."""

    name = "one-factor"
    see_mask = True

    def __init__(self, likelihood, loadings, read, precisions):
        super().__init__()
        self.likelihood, self.n_latent, self.n_noise = likelihood, 1, 1
        self.loadings, self.read, self.precisions = loadings, read, precisions
        self.unused = StackedLinear(1, 1, [torch.Generator()])  # engines ask the parameters for a type

    @classmethod
    def build(cls, n_inputs, likelihood, seeds, sizes):
        raise NotImplementedError

    def architecture(self):
        raise NotImplementedError

    @property
    def block_heads(self):
        return [self.likelihood.heads.tolist()]

    def encode(self, inputs):
        cells, visible = inputs.chunk(2, -1)
        variance = 1 / (1 + (visible * self.precisions).sum(-1, keepdim=True))
        return variance * (cells * self.read * visible).sum(-1, keepdim=True), variance.sqrt()

    def infer(self, inputs, noise, *, fixed_density=False):
        mean, scale = self.encode(inputs)
        return Latent.of_samples(mean.unsqueeze(1) + scale.unsqueeze(1) * noise)

    def most_probable(self, inputs):
        return Latent.of_samples(self.encode(inputs)[0].unsqueeze(1))

    def prior(self, n, generator):
        return Latent.of_samples(torch.randn(1, 1, n, 1, generator=generator))

    def decode(self, latent, blocks=(), *, frozen=False):
        return latent.z * self.loadings

    def natural(self, outputs, statistics=None):
        return self.likelihood.constrain(outputs)


class Normal(OneFactor):
    """Factor analysis, in which the encoder is the posterior."""

    def __init__(self, likelihood, loadings, noise):
        super().__init__(likelihood, loadings, loadings / noise**2, loadings**2 / noise**2)
        self.noise = noise

    def natural(self, outputs, statistics=None):
        raw = torch.log(torch.expm1(1 / self.noise**2 - FLOOR)).expand_as(outputs)
        return self.likelihood.constrain(torch.cat([outputs, raw], -1))


def prepared(columns, values):
    raw = RawTable(values, np.ones(values.shape, bool))
    return Preparation.fit(OneFactor, raw, Schema(columns), [range(len(values))], [0], within_limits=False)


def conditional_information(covariance, i, t, known):
    """I(x_i; x_t | known) of normal variables."""
    pair = [i, t]
    inner = covariance[pair][:, pair]
    if known:
        across = covariance[pair][:, known]
        inner = inner - across @ torch.linalg.inv(covariance[known][:, known]) @ across.T
    return -0.5 * math.log(1 - float(inner[0, 1] ** 2 / (inner[0, 0] * inner[1, 1])))


@pytest.mark.parametrize("known", [[], [0], [0, 3]])
def test_where_the_encoder_is_the_posterior_it_is_the_mutual_information(known):
    loadings, noise = torch.tensor([0.5, 2.0, 1.0, -1.0, 0.0]), torch.tensor([1.0, 0.8, 0.5, 1.0, 1.0])
    columns = tuple(Column(f"x{d}", "real") for d in range(5))
    preparation = prepared(columns, np.random.default_rng(0).normal(size=(400, 5)) * 3 + 1)
    model = Normal(preparation.likelihood(), loadings, noise)
    observed = np.zeros((1, 5), bool)
    observed[:, known] = True
    row = RawTable(np.full((1, 5), 1.5), observed)
    generator = torch.Generator().manual_seed(0)
    found = rewards(model, preparation, row, TARGET, n_samples=40_000, generator=generator)[0]
    covariance = torch.outer(loadings, loadings) + torch.diag(noise**2)
    for i in range(5):
        if i in known or i == TARGET:
            assert found[i].isnan()
        else:
            expected = conditional_information(covariance, i, TARGET, known)
            assert float(found[i]) == pytest.approx(expected, abs=0.01), i
    assert found.nan_to_num(-1).argmax() == 1
    assert abs(float(found[4])) < 1e-6  # it says nothing about z


def test_it_is_what_brute_force_finds_on_a_tiny_discrete_model():
    """Four binary columns, an encoder that is not the posterior: every answer is tried, and every KL is sampled."""
    loadings, read = torch.tensor([1.0, 3.0, 2.0, -0.7]), torch.tensor([0.8, 2.5, 1.5, -0.4])
    precisions = torch.tensor([0.3, 2.0, 1.0, 0.1])
    columns = tuple(Column(f"x{d}", "binary", (0, 1)) for d in range(4))
    preparation = prepared(columns, np.random.default_rng(0).integers(0, 2, (100, 4)).astype(float))
    model = OneFactor(preparation.likelihood(), loadings, read, precisions)
    row = RawTable(np.ones((1, 4)), np.array([[True, False, False, False]]))
    generator = torch.Generator().manual_seed(0)
    found = rewards(model, preparation, row, TARGET, n_samples=20_000, generator=generator)[0]

    def posterior(cells):
        visible = torch.tensor([float(d in cells) for d in range(4)])
        values = torch.tensor([float(cells.get(d, 0)) for d in range(4)])
        mean, scale = model.encode(torch.cat([values, visible])[None, None])
        return td.Normal(mean.squeeze(), scale.squeeze())

    def sampled(after, before):
        z = after.sample((100_000,))
        return float((after.log_prob(z) - before.log_prob(z)).mean())

    torch.manual_seed(0)
    known = {0: 1}
    z = posterior(known).sample((200_000, 1))
    p_one = torch.sigmoid(z * loadings)  # [samples, columns]

    def chance(column, answer):
        return p_one[:, column] if answer else 1 - p_one[:, column]

    for i in (1, 3):
        expected = 0.0
        for a, b in itertools.product((0, 1), repeat=2):
            share = float((chance(i, a) * chance(TARGET, b)).mean())
            alone = sampled(posterior(known | {i: a}), posterior(known))
            told = sampled(posterior(known | {i: a, TARGET: b}), posterior(known | {TARGET: b}))
            expected += share * (alone - told)
        assert float(found[i]) == pytest.approx(expected, abs=0.01)
    assert found[1] > found[3]


def test_nothing_is_asked_where_the_target_is_known_or_nothing_is_missing():
    columns = tuple(Column(f"x{d}", "real") for d in range(3))
    preparation = prepared(columns, np.random.default_rng(0).normal(size=(50, 3)))
    model = Normal(preparation.likelihood(), torch.ones(3), torch.ones(3))
    observed = np.array([[1, 0, 1], [1, 1, 1], [1, 1, 0], [0, 1, 0]], bool)
    found = rewards(model, preparation, RawTable(np.zeros((4, 3)), observed), TARGET, n_samples=5)
    assert found[:3].isnan().all()
    assert (~found[3].isnan()).tolist() == [True, False, False]


@pytest.mark.parametrize("name", ["vae", "twoway", "vaem"])
def test_every_family_with_a_gaussian_posterior_has_it(name, monkeypatch):
    raw, family = table(), FAMILIES[name]
    preparation = Preparation.fit(family, raw, SCHEMA, [range(40)], [0])
    network = preparation.network(preparation.rows(preparation.encode(raw)).n_inputs, [0])
    first = rewards(network, preparation, raw, 1, n_samples=4, generator=torch.Generator().manual_seed(0))
    asked = ~raw.observed & ~raw.observed[:, [1]]
    asked[:, 1] = False
    assert (first.isfinite().numpy() == asked).all()
    monkeypatch.setattr("evenhand.tables.inference._reward.IN_MEMORY", 20)  # five rows at a time
    again = rewards(network, preparation, raw, 1, n_samples=4, generator=torch.Generator().manual_seed(0))
    assert (again.isfinite() == first.isfinite()).all()


def test_hivae_is_refused():
    raw, family = table(), FAMILIES["hivae"]
    preparation = Preparation.fit(family, raw, SCHEMA, [range(40)], [0])
    network = preparation.network(preparation.rows(preparation.encode(raw)).n_inputs, [0])
    with pytest.raises(ValueError, match=r"model should be one whose q\(z\|x\) is Gaussian. Found 'hivae'"):
        rewards(network, preparation, raw, 1, n_samples=4)
