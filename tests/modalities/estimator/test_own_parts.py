"""Networks, likelihoods and training loops of users' own."""

import copy
import math
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from evenhand import Modality, MultimodalVAE
from evenhand.impartial import MGDA
from evenhand.modalities.likelihoods import Categorical, Laplace, Likelihood, Normal
from evenhand.modalities.objectives import LooseToTight, Tight

from .._tiny import CLASSES, L, assert_same, decoder, encoder, parts, rows, tiny, weights


def build(modalities, **options):
    return MultimodalVAE(modalities, n_latent=L, **{"n_samples": 2, **options})


# Networks


def test_a_second_model_of_trained_networks_is_warned_of():
    """It begins with trained weights, and trains the first one along."""
    shared, data = parts(), rows(8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(shared)  # what was not trained harms nobody
        first = build(shared).fit(data, epochs=1)
        first.fit(data, epochs=1)
        copy.deepcopy(first).fit(data, epochs=1)
        build(copy.deepcopy(shared)).fit(data, epochs=1)
        one = encoder(CLASSES)  # twice in one model is what somebody wants
        label = {"likelihood": Categorical(CLASSES), "shape": ()}
        twice = build({"a": Modality(encoder=one, **label), "b": Modality(encoder=one, **label)})
        twice.fit({"a": data["label"], "b": data["label"]}, epochs=1)
        made = {"image": Modality(likelihood=Laplace(), shape=(1, 8, 8))}
        for _ in range(2):  # networks that are made here are made anew
            build(made).fit({"image": data["image"]}, epochs=1)
    with pytest.warns(
        UserWarning, match="The encoder of 'image' was trained as a part of another.*deepcopy"
    ) as caught:
        build(shared).fit(data, epochs=1)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="The decoder of 'label' was trained"):
        build(parts(label_decoder=shared["label"].decoder)).fit(data, epochs=1)


@pytest.mark.parametrize("fixed", [lambda: decoder(1, 8, 8).requires_grad_(False), lambda: Fixed()])
def test_conflicts_of_a_decoder_that_does_not_learn(fixed):
    model = tiny(image_decoder=fixed(), impartial={"DEI": MGDA()}).fit(rows(), epochs=1)
    assert list(model.conflicts(rows()).blocks) == [
        "the latent samples",
        "the densities of the latent samples",
        "the decoder of label",
    ]


class Fixed(nn.Module):
    """A decoder without parameters."""

    def forward(self, z):
        return z.sum(-1).view(-1, 1, 1, 1).expand(-1, 1, 8, 8)


class Codes(Categorical):
    """Encoders see the codes themselves."""

    def inputs(self, x):
        return x

    def input_shape(self, shape):
        return tuple(shape)


def test_an_encoder_that_takes_integers():
    embedding = nn.Embedding(CLASSES, 2 * L)
    model = build({"label": Modality(embedding, decoder(CLASSES), Codes(CLASSES))})
    model.fit({"label": [0, 1, 2, 3]}, epochs=1)
    assert model.encode({"label": [3, 0]}).shape == (2, L)


# Likelihoods


class LogitNormal(Likelihood):
    """Shares between 0 and 1, without the ends."""

    def log_prob(self, parameters, x):
        logit = torch.logit(x)
        log_p = -0.5 * (logit - parameters) ** 2 - 0.5 * math.log(2 * math.pi) - torch.log(x * (1 - x))
        return log_p.sum(dim=tuple(range(1 - x.ndim, 0)))

    def inputs(self, x):
        return torch.logit(x)

    def mean(self, parameters):
        return torch.sigmoid(parameters)

    def sample(self, parameters, generator=None):
        return torch.sigmoid(parameters + torch.empty_like(parameters).normal_(generator=generator))


def test_what_is_behind_a_hole_is_an_item_of_the_likelihood():
    share = np.random.default_rng(0).uniform(0.1, 0.9, (12, 2))
    share[3] = np.nan
    data = {"share": share, "label": torch.arange(12) % CLASSES}
    label = Modality(encoder(CLASSES), decoder(CLASSES), Categorical(CLASSES))
    model = build({"share": Modality(encoder(2), decoder(2), LogitNormal()), "label": label}).fit(data, epochs=2)
    assert all(math.isfinite(row["bound"]) for row in model.history)
    assert all(x.isfinite().all() for x in model.state_dict().values())


def test_a_scale_of_one_is_a_scale_of_one(tmp_path):
    first, second = (build({"x": Modality(encoder(3), decoder(3), Normal(scale))}) for scale in (1, 1.0))
    first.save(tmp_path / "weights.safetensors")
    second.load(tmp_path / "weights.safetensors")
    assert_same(weights(second), weights(first))


# Weights from elsewhere, and a loop of one's own


def test_the_mixture_follows_the_weights():
    first, second = (tiny().fit(rows(seed=seed), epochs=2, seed=seed) for seed in (0, 1))
    first.sample(3, latent="mixture")
    first.load_state_dict(second.state_dict())
    assert_same(first.sample(3, latent="mixture"), second.sample(3, latent="mixture"))


def test_a_loop_of_ones_own_says_how_far_it_is():
    data = rows()

    def bound(tightness=None, **options):
        torch.manual_seed(0)
        model = tiny(objective="iwae" if tightness is None else "siwae", tightness=tightness)
        return model(data, **options).bound.item()

    assert bound(LooseToTight(10)) == pytest.approx(bound())
    assert bound(LooseToTight(10), progress=10) == pytest.approx(bound(Tight()))
    assert bound(LooseToTight(10), progress=10) != pytest.approx(bound())


def test_a_loop_of_ones_own_says_what_the_rate_weighs():
    data = rows()

    def loss(weight, **options):
        torch.manual_seed(0)
        return tiny(kl_weight=weight)(data, **options).loss.item()

    assert loss(1.0, kl_weight=0.1) == pytest.approx(loss(0.1))
    assert loss("rate:1") == pytest.approx(loss(1.0))
    assert loss("rate:1", kl_weight=0.1) == pytest.approx(loss(0.1))


def test_no_rows_have_no_conflicts():
    with pytest.raises(ValueError, match="data should have at least one row. Found none"):
        tiny().conflicts(rows(0))
