"""Likelihoods that count more or less than others: what a tuned weight gives, as the rival of every f."""

import math

import pytest
import torch

from evenhand.impartial import IMTLG, CAGrad
from evenhand.modalities.likelihoods import Normal
from evenhand.modalities.objectives import Balanced

from .._linear import NOISE, SIZES, core, draw, gradients, network
from .._tiny import rows, tiny

N, K, WEIGHTS = 8, 4, (1.0, 4.0, 0.25)
CASES = [("elbo", None), ("iwae", None), ("siwae", None), ("siwae", Balanced(0.6)), ("mmjsd", None)]


def narrower(net):
    """The same network with likelihoods whose logarithms are those times the weights, but for a constant."""
    for i, (name, weight) in enumerate(zip(net.names, WEIGHTS, strict=True)):
        net.likelihoods[i] = Normal(NOISE[name] / math.sqrt(weight))
    return net


@pytest.mark.parametrize(("objective", "tightness"), CASES, ids=str)
@pytest.mark.parametrize("local_step", ["none", "forward", "backward"])
@pytest.mark.parametrize("impartial", [None, {"LI": CAGrad(0.4), "DEI": IMTLG()}], ids=["plain", "blocks"])
def test_a_weight_is_a_narrower_likelihood(objective, tightness, local_step, impartial):
    """Four times log N(x; m, s) is log N(x; m, s / 2) and a constant."""
    net, values = network("mixture"), draw(N)
    options = {"objective": objective, "tightness": tightness, "n_samples": K, "local_step": local_step}
    weighted = core(net, **options, likelihood_weights=WEIGHTS, impartial=impartial)
    noise = weighted.noise(N)
    found = gradients(weighted, values, None, noise)
    expected = gradients(core(narrower(net), **options, impartial=impartial), values, None, noise)
    assert found.keys() == expected.keys()
    for name, g in expected.items():
        torch.testing.assert_close(found[name], g, msg=name)


@pytest.mark.parametrize(("objective", "tightness"), CASES[1:4], ids=str)
def test_few_samples_are_weighed_alike(objective, tightness):
    net, values = network("mixture"), draw(N)
    options = {"objective": objective, "tightness": tightness, "n_samples": K, "likelihood_weights": WEIGHTS}
    two = core(net, **options, n_backward=K)
    noise = two.noise(N)
    one = gradients(core(net, **options), values, None, noise[..., :2])
    for name, g in gradients(two, values, None, noise).items():
        torch.testing.assert_close(g, one[name], msg=name)


def test_what_is_shown_is_a_likelihood():
    net, values = network("mixture"), draw(N)
    plain, weighted = (core(net, objective="elbo", likelihood_weights=w) for w in ((), WEIGHTS))
    noise = plain.noise(N)
    one, other = plain(values, None, noise), weighted(values, None, noise)
    torch.testing.assert_close(other.log_likelihood, one.log_likelihood)
    gained = ((torch.tensor(WEIGHTS) - 1) * one.log_likelihood).sum()
    torch.testing.assert_close(other.bound - one.bound, gained.to(one.bound.dtype))


def test_modalities_are_weighed_by_their_names():
    model = tiny(likelihood_weights={"label": 3.0})
    assert model.core.options.likelihood_weights == (1.0, 3.0)
    assert tiny(likelihood_weights={"label": 1.0}).core.options.likelihood_weights == ()
    fit = {"epochs": 2, "batch_size": 8, "verbose": False}
    plain, weighted = tiny().fit(rows(), **fit), model.fit(rows(), **fit)
    assert weighted.history[-1]["log_likelihood/label"] > plain.history[-1]["log_likelihood/label"]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"sound": 2.0}, "likelihood_weights should be numbers by modality, of 'image', 'label'. Found 'sound'"),
        ([1.0, 2.0], "likelihood_weights should be numbers by modality, of 'image', 'label'. Found \\[1.0, 2.0\\]"),
        ({"label": 0.0}, "likelihood_weights\\['label'\\] should be a number > 0. Found 0.0"),
        ({"label": math.nan}, "likelihood_weights\\['label'\\] should be a number > 0. Found nan"),
        ({"label": "2"}, "likelihood_weights\\['label'\\] should be a number > 0. Found '2'"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        tiny(likelihood_weights=weights)


def test_every_modality_has_a_weight():
    with pytest.raises(ValueError, match="likelihood_weights should have a number for each of 3 modalities"):
        core(network("mixture"), likelihood_weights=(1.0, 2.0))
    assert len(SIZES) == 3


def test_a_training_is_not_resumed_with_other_weights(tmp_path):
    fit = {"batch_size": 8, "folder": tmp_path, "verbose": False}
    tiny(likelihood_weights={"label": 3.0}).fit(rows(), epochs=1, **fit)
    for weights in (None, {"label": 2.0}):
        with pytest.raises(ValueError, match="local_step"):
            tiny(likelihood_weights=weights).fit(rows(), epochs=1, **fit)
