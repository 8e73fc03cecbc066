"""Who dies is told once, early and in words that help; who lives is left alone."""

import warnings

import pytest
import torch

from evenhand import Modality, MultimodalVAE
from evenhand.modalities import Balanced, Laplace, Tight
from evenhand.modalities.training._health import EVERY, Health

EXPERTS = ["image", "text", "label"]


def readings(shares=(0.4, 0.3, 0.3), rates=(20.0, 15.0, 10.0)):
    return {f"share/{n}": s for n, s in zip(EXPERTS, shares, strict=True)} | {
        f"rate/{n}": r for n, r in zip(EXPERTS, rates, strict=True)
    }


def test_nobody_is_told_of_the_living():
    health = Health(EXPERTS)
    for step in range(EVERY, 20 * EVERY, EVERY):
        assert not health.look(step, readings())
        assert not health.look(step, readings(shares=(0.9, 0.08, 0.02)))  # little, and enough to live on


def test_a_starving_expert_is_named_once_at_the_second_look():
    health = Health(EXPERTS)
    assert not health.look(100, readings(shares=(0.7, 0.299, 0.001)))
    (sentence,) = health.look(200, readings(shares=(0.7, 0.299, 0.001)))
    assert "The expert 'label' starves: since step 0 its samples have had 0.10% of the weights" in sentence
    assert "an equal share is 33%" in sentence
    assert "tightness=Balanced()" in sentence
    assert not health.look(300, readings(shares=(0.7, 0.299, 0.001)))


def test_a_moment_of_hunger_is_no_alarm():
    health = Health(EXPERTS)
    for step in range(100, 2000, 200):
        assert not health.look(step, readings(shares=(0.7, 0.299, 0.001)))
        assert not health.look(step + 100, readings())


def test_a_runaway_posterior_is_named_once_at_the_second_look():
    health = Health(EXPERTS)
    assert not health.look(300, readings(rates=(18_000.0, 15.0, 10.0)))
    (sentence,) = health.look(400, readings(rates=(17_000.0, 15.0, 10.0)))
    assert "posterior of the expert 'image' has run away: since step 200 it has been more than 1,000 nats" in sentence
    assert "now 17,000" in sentence
    assert not health.look(500, readings(rates=(28_000.0, 15.0, 10.0)))
    two = Health(EXPERTS)
    two.look(100, readings(rates=(1e5, 2e4, 10.0)))
    assert len(two.look(200, readings(rates=(1e5, 2e4, 10.0)))) == 2


@pytest.mark.parametrize(
    "rates",
    [[1392.3, 10.1, 9.9], [671.9, 1132.4, 479.3, 354.0], [942.4, 1010.0, 389.0, 626.5], [9e4, 4e4, 1.5e4, 40]],
)
def test_a_posterior_that_comes_back_is_no_alarm(rates):
    """Under the loose bound some begin far from the prior; the first three were seen on MNIST-SVHN-Text."""
    health = Health(EXPERTS)
    for look, rate in enumerate(rates, 1):
        assert not health.look(look * EVERY, readings(rates=(rate, 15.0, 10.0)))


@pytest.mark.parametrize("rates", [(190.0, 15.0, 10.0), (1500.0, 1300.0, 1400.0), (999.0, 1.0, 1.0)])
def test_a_high_rate_alone_is_no_alarm(rates):
    """Where all are high, the model is large; where one is a few times higher, it knows more."""
    assert not Health(EXPERTS).look(100, readings(rates=rates))


def test_equal_shares_and_single_experts_are_no_alarm():
    many = [f"e{i}" for i in range(50)]
    health = Health(many)
    for step in (100, 200, 300):
        assert not health.look(step, {f"share/{n}": 0.02 for n in many} | {f"rate/{n}": 5.0 for n in many})
    alone = Health(["a+b"])
    for step in (100, 200):
        assert not alone.look(step, {"share/a+b": 1.0, "rate/a+b": 50.0})


def test_an_expert_that_no_row_has_is_no_alarm():
    health = Health(EXPERTS)
    for step in (100, 200, 300):
        assert not health.look(step, {"share/image": 1.0, "rate/image": 10.0})


def unequal(n=240):
    """One modality with a hundred numbers, and one with a single bit of what they say."""
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(n, 2, generator=generator)
    large = torch.tanh(hidden @ torch.randn(2, 100, generator=generator))
    return {"large": large, "small": (hidden[:, :1] > 0).float()}


def model(seed=0, **options):
    parts = {
        "large": Modality(likelihood=Laplace(0.3), shape=(100,)),
        "small": Modality(likelihood=Laplace(0.3), shape=(1,)),
    }
    return MultimodalVAE(parts, n_latent=2, n_samples=3, local_step="none", seed=seed, **options)


FIT = {"epochs": 11, "batch_size": 8, "learning_rate": 1e-3}  # 330 steps


def test_fit_warns_under_the_tight_bound():
    torch.set_default_dtype(torch.float32)
    with pytest.warns(UserWarning, match="The expert 'small' starves") as caught:
        model(objective="siwae", tightness=Tight()).fit(unequal(), **FIT)
    assert len([w for w in caught if "starves" in str(w.message)]) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "siwae"},
        {"objective": "siwae", "tightness": Balanced(0.7)},
        {"objective": "iwae"},
        {"objective": "elbo"},
        {"objective": "siwae", "experts": "product"},
    ],
    ids=str,
)
@pytest.mark.parametrize("missing", [False, True])
def test_fit_raises_no_false_alarm(options, missing):
    torch.set_default_dtype(torch.float32)
    data = unequal()
    if missing:
        data["large"][::3] = torch.nan
        data["small"][1::3] = torch.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = model(**options).fit(data, **FIT, log_every=100).history
    assert all(row["effective_experts"] >= 1 - 1e-6 for row in history if "effective_experts" in row)


def test_auto_is_balanced_where_several_experts_compete():
    assert model(objective="siwae").core.options.tightness == Balanced(0.6)
    assert model(objective="siwae", experts="product").core.options.tightness is None
    assert model(objective="iwae").core.options.tightness is None
    assert model(objective="siwae", tightness=None).core.options.rule == Tight()
