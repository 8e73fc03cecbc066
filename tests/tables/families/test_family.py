"""A family of one's own is one class: every engine takes it, and knows none by name."""

import re
from pathlib import Path
from typing import ClassVar, get_args

import pytest
import torch

from evenhand.common import log_normal
from evenhand.impartial import IMTLG, PCGrad, Sum
from evenhand.tables import families
from evenhand.tables.families import FAMILIES, Family, FamilyName, Latent, Sizes, StackedLinear
from evenhand.tables.inference import (
    encode,
    expectations,
    head_gradients,
    log_likelihood,
    rates_and_bounds,
    reconstruct,
    rows_from_codes,
    rows_from_prior,
)
from evenhand.tables.stack import Preparation, Run, Stack

from .._inputs import SCHEMA, table


class Linear(Family):
    """Factor analysis with heads of all kinds: both ways are linear, and the heads meet at z."""

    name = "linear"
    objectives: ClassVar = ("elbo", "iwae")
    default = Sizes(n_latent=2)

    def __init__(self, n_inputs, likelihood, *, seeds, n_latent):
        super().__init__()
        self.likelihood, self.n_latent, self.n_noise = likelihood, n_latent, n_latent
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.mean = StackedLinear(n_inputs, n_latent, draws)
        self.head = StackedLinear(n_latent, likelihood.n_parameters, draws, fan_out=likelihood.fan_out)
        self.steps_seen = []

    def architecture(self):
        return {"n_inputs": self.mean.weight.shape[-1], "n_latent": self.n_latent}

    @property
    def block_heads(self):
        return [self.likelihood.heads.tolist()]

    def infer(self, inputs, noise, *, fixed_density=False):
        mean = self.mean(inputs)
        z = mean.unsqueeze(1) + 0.5 * noise
        log_scale = torch.full_like(mean, 0.5).log().unsqueeze(1)
        kl = (0.5 * (mean.square() + 0.25 - 1) - log_scale.squeeze(1)).sum(-1)
        return Latent(z, log_normal(z, mean.unsqueeze(1), log_scale), log_normal(z, 0.0), kl)

    def most_probable(self, inputs):
        return self.infer(inputs, inputs.new_zeros(len(inputs), 1, inputs.shape[1], self.n_latent))

    def decode(self, latent, blocks=(), *, frozen=False):
        z = latent.z.flatten(1, 2)
        raw = blocks[0](z, self.head.weight, self.head.bias) if blocks else self.head(z)
        return raw.unflatten(1, latent.z.shape[1:3])

    def natural(self, outputs, statistics=None):
        return self.likelihood.constrain(outputs)

    def start_step(self, steps, steps_per_epoch):
        self.steps_seen.append((int(steps), steps_per_epoch))


def prepared():
    raw = table()
    preparation = Preparation.fit(Linear, raw, SCHEMA, [range(40)], [0])
    return preparation, preparation.rows(preparation.encode(raw))


def trained(runs, objective="elbo", steps=20):
    preparation, rows = prepared()
    network = preparation.network(rows.n_inputs, [run.seed for run in runs])
    stack = Stack(network, runs, rows, torch.arange(40)[None], objective=objective, n_samples=2, batch_size=10)
    stack.train(steps)
    return stack


@pytest.mark.parametrize("objective", ["elbo", "iwae"])
def test_a_stack_trains_it(objective):
    runs = [Run(0, Sum()), Run(0, IMTLG()), Run(0, PCGrad())]
    stack = trained(runs, objective)
    assert stack.model.steps_seen[:5] == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    alone = trained(runs[1:2], objective)
    torch.testing.assert_close(stack.model.head.weight[1:2], alone.model.head.weight)
    assert not torch.equal(stack.model.head.weight[0], stack.model.head.weight[1])
    stack.keep([1])
    assert torch.equal(stack.model.head.weight, stack.model.state_dict()["head.weight"])
    assert len(stack.model.mean.weight) == 1
    stack.train(3)


def test_an_objective_that_it_lacks_is_refused():
    with pytest.raises(
        ValueError, match="objective should be one of 'elbo', 'iwae' with model='linear'. Found 'dreg'"
    ):
        trained([Run(0, Sum())], "dreg")


def test_inference_asks_it():
    stack, (_, rows) = trained([Run(0, Sum())]), prepared()
    model, index = stack.model, torch.arange(12)
    assert reconstruct(model, rows, index).shape == (1, 12, len(SCHEMA))
    assert expectations(model, rows, index).isfinite().all()
    assert log_likelihood(model, rows, index).shape == (1, 12)
    assert rates_and_bounds(model, rows, index)[0].min() >= 0
    assert encode(model, rows, index).shape == (1, 12, 2)
    assert head_gradients(model, rows, index).shares.sum(-1).item() == pytest.approx(1)
    generator = torch.Generator().manual_seed(0)
    assert (
        rows_from_prior(model, 5, generator).shape
        == rows_from_codes(model, torch.randn(5, 2).numpy(), generator).shape
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_network_is_built_from_its_architecture(name):
    raw, family = table(), FAMILIES[name]
    preparation = Preparation.fit(family, raw, SCHEMA, [range(40)], [0])
    rows = preparation.rows(preparation.encode(raw))
    first = preparation.network(rows.n_inputs, [7], sizes=Sizes(3, 5, 2))
    second = family(likelihood=preparation.likelihood(), seeds=[7], **first.architecture())
    assert first.state_dict().keys() == second.state_dict().keys()
    assert all(torch.equal(x, second.state_dict()[key]) for key, x in first.state_dict().items())
    assert set(family.objectives) <= {"elbo", "iwae", "dreg"}
    assert first.n_latent == 3


def test_families_are_found_by_name():
    assert list(FAMILIES) == list(get_args(FamilyName)) == [family.name for family in FAMILIES.values()]
    assert FAMILIES["vaem"] is families.VAEM
    with pytest.raises(KeyError):
        FAMILIES["nobody"]


@pytest.mark.parametrize("name", FAMILIES)
def test_sizes_that_nobody_names_are_those_of_the_family(name):
    raw, family = table(), FAMILIES[name]
    preparation = Preparation.fit(family, raw, SCHEMA, [range(40)], [0])
    built = preparation.network(preparation.rows(preparation.encode(raw)).n_inputs, [0]).architecture()
    own = family.default
    assert built["n_latent"] == (own.n_latent or len(SCHEMA))
    assert (built.get("n_hidden"), built.get("n_layers")) == (own.n_hidden, own.n_layers)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_that_says_so_has_a_gaussian_posterior(name):
    raw, family = table(), FAMILIES[name]
    preparation = Preparation.fit(family, raw, SCHEMA, [range(40)], [0])
    rows = preparation.rows(preparation.encode(raw))
    network = preparation.network(rows.n_inputs, [0]).eval()
    seen = network.look(rows.split(rows.record[:5])[0].unsqueeze(0))
    if family.posterior_is_gaussian:
        assert all(part.shape == (1, 5, network.n_latent) for part in network.encode(seen))
    else:
        with pytest.raises(ValueError, match="model should be one whose q"):
            network.encode(seen)


def test_few_files_know_a_family_beside_its_own_folder():
    """Those that list it, describe it to users, cite its paper, or take it by default: at most four."""
    house = Path(families.__file__).parents[2]
    outside = [file for file in house.rglob("*.py") if "_vaem" not in file.parts]
    assert len(outside) > 100
    knowing = [file.name for file in outside if re.search("vaem", file.read_text(encoding="utf-8"), re.IGNORECASE)]
    assert sorted(knowing) == ["__init__.py", "_acquire.py", "_reward.py", "_tabular_vae.py"]
