"""How long the gradients of every expert are, read without a hook, and limited before experts meet."""

import pytest
import torch

from evenhand.impartial import CAGrad, Sum
from evenhand.modalities.models import Experts, MixtureVAE
from evenhand.modalities.training._watch import Watch

from .._linear import CHOICES, core, draw, gradients, holes, network

N = 7


def watched(model, observed=None, *, limit=None, times=1.0, seed=0):
    """The squared lengths that a probe tells."""
    noise = model.noise(N, torch.Generator().manual_seed(seed))
    probe = torch.zeros(model.network.n_experts, requires_grad=True)
    (times * model(draw(N), observed, noise, probe=probe, limit=limit).loss).backward()
    return probe.grad


def by_hand(model, monkeypatch, observed=None, seed=0):
    """Gradients of the summed objective at the mean and the logarithm of the scale of every expert, [A, B, 2 L]."""
    kept = []
    original = MixtureVAE.experts

    def experts(self, *args):
        found = original(self, *args)
        mean, log_scale = found.mean.detach().requires_grad_(), found.scale.detach().log().requires_grad_()
        kept.append((mean, log_scale))
        return Experts(mean, log_scale.exp(), found.present)

    with monkeypatch.context() as patch:
        patch.setattr(MixtureVAE, "experts", experts)
        loss = model(draw(N), observed, model.noise(N, torch.Generator().manual_seed(seed))).loss
    return torch.cat(torch.autograd.grad(N * loss, kept[0]), -1)


OPTIONS = [
    {"objective": "elbo"},
    {"objective": "iwae", "gradient": "plain"},
    {"objective": "siwae", "gradient": "dreg"},
    {"objective": "siwae", "n_backward": 2},
    {"objective": "mmjsd"},
    {"objective": "iwae", "impartial": {"LI": CAGrad(), "EEI": Sum(), "DEI": CAGrad()}, "micro_batch": 4},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("experts", CHOICES)
def test_readings_are_the_lengths_of_gradients_at_posteriors(monkeypatch, options, missing, experts):
    if options["objective"] == "mmjsd" and experts != "mixture":
        pytest.skip("mmjsd has single modalities")
    model = core(network(experts), **options)
    observed = holes(N) if missing else None
    expected = by_hand(model, monkeypatch, observed).square().sum((-2, -1))
    assert (expected > 0).any()
    torch.testing.assert_close(watched(model, observed), expected)


def test_what_multiplies_the_loss_changes_no_reading():
    model = core(network("mixture"), objective="siwae")
    expected = watched(model)
    for times in (1 / 128, 65536.0):
        torch.testing.assert_close(watched(model, times=times), expected)


def test_to_watch_changes_nothing():
    model, values = core(network("mixture-of-products"), objective="siwae"), draw(N)
    noise = model.noise(N)
    plain = gradients(model, values, noise=noise)
    probe = torch.zeros(7, requires_grad=True)
    for options in ({"probe": probe}, {"limit": 1e9}, {"probe": probe, "limit": 1e9}):
        found = gradients(model, values, noise=noise, **options)
        assert all(torch.equal(x, plain[name]) for name, x in found.items()), options
    loss = model(values, noise=noise).loss
    assert torch.equal(model(values, noise=noise, probe=probe).loss, loss)


def at_experts(gradient, limit, n_rows=2):
    """What is left of gradients [A, B, L] of a mean at means of scale 1."""
    mean, scale = torch.zeros_like(gradient, requires_grad=True), torch.ones_like(gradient)
    watch = Watch(None, limit, n_rows)
    experts = watch(Experts(mean, scale))
    ((experts.mean * gradient).sum() / n_rows + watch.told).backward()
    return mean.grad * n_rows


def test_every_expert_and_row_is_limited_on_its_own():
    gradient = torch.tensor([[[300.0, 400.0], [0.3, 0.4]], [[0.0, 2.0], [0.0, 0.0]]])
    expected = torch.tensor([[[0.6, 0.8], [0.3, 0.4]], [[0.0, 1.0], [0.0, 0.0]]])
    torch.testing.assert_close(at_experts(gradient, 1.0), expected)
    assert torch.equal(at_experts(gradient, None), gradient)


def test_scales_are_measured_by_their_logarithms():
    """A small scale has a large slope, and moves as little."""
    scale = torch.tensor([[[1e-3]]], requires_grad=True)
    watch = Watch(probe := torch.zeros(1, requires_grad=True), None, 1)
    experts = watch(Experts(torch.zeros(1, 1, 1, requires_grad=True), scale))
    (experts.scale.log().sum() + watch.told).backward()
    assert probe.grad.item() == pytest.approx(1)
    assert scale.grad.item() == pytest.approx(1000)


def test_a_limited_expert_leaves_the_others_as_they_are():
    """The encoder of a modality that explodes is held back; those beside it get what they got."""
    values = draw(N)
    wild = replace_mean(network("mixture"), "a", 1e4)
    model = core(wild, objective="elbo")
    noise = model.noise(N)
    plain, limited = gradients(model, values, noise=noise), gradients(model, values, noise=noise, limit=1e3)
    for name, x in limited.items():
        if name.startswith("encoders.0"):
            assert x.norm() < 0.5 * plain[name].norm(), name
        elif name.startswith("encoders"):
            assert torch.equal(x, plain[name]), name


def replace_mean(net, name, value):
    with torch.no_grad():
        net.encoders[net.names.index(name)].mean.bias.fill_(value)
    return net


def test_without_gradients_there_is_nothing_to_watch():
    watch = Watch(torch.zeros(1, requires_grad=True), 1.0, 1)
    experts = Experts(torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
    with torch.no_grad():
        assert watch(experts) is experts
