"""A multimodal training that holds a rate."""

import warnings

import pytest
import torch

from evenhand.impartial import IMTLG
from evenhand.modalities.training import Step
from evenhand.modalities.training._held_rate import HeldRate

from .._tiny import rows, tiny

LONG = {"epochs": 80, "batch_size": 20, "learning_rate": 5e-3}
SETTINGS = [
    {"objective": "elbo"},
    {"objective": "iwae", "impartial": {"LI": IMTLG()}},
    {"objective": "siwae", "experts": "mixture-of-products"},
    {"objective": "elbo", "experts": "product", "dropout": 0.2},
    {"objective": "mmjsd"},
]


def rate_of(model, data):
    """The mean over experts and rows."""
    with torch.no_grad():
        return float(model(data).rate.mean())


@pytest.mark.parametrize("options", SETTINGS, ids=lambda o: "-".join(map(str, o.values())))
def test_the_rate_arrives(options):
    data, held_out = rows(200), rows(100, seed=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The rate")
        warnings.filterwarnings("ignore", message="Expert")
        model = tiny(kl_weight="rate:2.5", **options).fit(data, validation=held_out, **LONG)
    assert rate_of(model, held_out) == pytest.approx(2.5, rel=0.03)
    assert model.history[-1]["rate"] == pytest.approx(2.5, rel=0.1)
    assert len({row["kl_weight"] for row in model.history}) > 10


def test_without_validation_the_rate_of_training_is_held():
    model = tiny(objective="elbo", kl_weight="rate:2.5").fit(rows(200), **LONG)
    assert model.history[-1]["rate"] == pytest.approx(2.5, rel=0.05)
    assert rate_of(model, rows(200)) == pytest.approx(2.5, rel=0.1)


def test_a_rate_that_is_not_reached_is_said():
    with pytest.warns(UserWarning, match=r"should be 90 nats per row\. Found .* Ask for a lower rate"):
        tiny(objective="elbo", kl_weight="rate:90").fit(rows(), epochs=2)


def test_outside_of_training_the_bound_is_one_of_the_evidence():
    held, plain = tiny(objective="elbo", kl_weight="rate:3"), tiny(objective="elbo")
    torch.manual_seed(0)
    noise = held.core.noise(24)
    values = held._read(rows()).values
    assert torch.equal(held.core(values, noise=noise).bound, plain.core(values, noise=noise).bound)


def test_no_warm_up():
    with pytest.raises(ValueError, match="kl_warm_up should be 0 where kl_weight holds a rate"):
        tiny(kl_weight="rate:3").fit(rows(), epochs=2, kl_warm_up=1)


def test_sums_of_processes_are_those_of_all_rows():
    """Processes have parts of a batch; experts may lack rows."""

    def step(rate, n_rate):
        others = dict.fromkeys(Step._fields, torch.zeros(()))
        return Step(**{**others, "rate": torch.tensor(rate), "n_rate": torch.tensor(n_rate)})

    whole = HeldRate.sums(step([2.0, 5.0], [4.0, 2.0]))
    parts = [HeldRate.sums(step([1.0, 5.0], [1.0, 1.0])), HeldRate.sums(step([7 / 3, 5.0], [3.0, 1.0]))]
    torch.testing.assert_close(sum(parts), whole)
    assert float(whole[0] / whole[1]) == 3.0
