"""What every kind promises; a new one needs an entry in `_columns.EVERY`."""

import copy
import math

import numpy as np
import pytest
import torch

from evenhand.tables.families import HIVAE
from evenhand.tables.frames import RawTable
from evenhand.tables.kinds import Preprocessing, TableLikelihood, encoder_inputs
from evenhand.tables.schema import Column, Kind, Schema

from .._inputs import SCHEMA, likelihood, one_column, raw_parameters, table
from ._columns import EVERY

RULES = ("log", "centred", "log1p")


def every(rules=RULES):
    return [
        pytest.param(*EVERY[name], rule, id=f"{name}, {rule}")
        for name in EVERY
        for rule in (rules if name.startswith("positive") else rules[:1])
    ]


def rows(values):
    cells = np.asarray(values, dtype=float)[:, None]
    return RawTable(cells, np.ones(cells.shape, dtype=bool))


def test_every_kind_is_tried():
    assert {column.kind for column, _ in EVERY.values()} == set(Kind)


@pytest.mark.parametrize(("column", "values", "rule"), every())
def test_decoding_undoes_encoding(column, values, rule):
    _, fitted = one_column(column, values, rule)
    back = fitted.decode(fitted.encode(rows(values)).values)[:, 0]
    assert back == pytest.approx(np.asarray(values, dtype=float), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("column", "values", "rule"), every())
def test_there_is_one_way_back(column, values, rule):
    """Arrays and tensors agree on it, for cells of the data and for others."""
    heads, fitted = one_column(column, values, rule)
    coded = fitted.encode(rows(values)).values.double()
    spread = torch.linspace(-1, 1.5, 7).unsqueeze(-1) if column.kind.numeric else coded[:0]
    coded = torch.cat([coded, spread])
    found = heads.groups[0].value(coded.unsqueeze(0))[0]
    known = fitted.decode(coded)
    if rule == "log1p" and column.zero_offset is not None:  # small numbers were not raised, and yet are zeros here
        known = np.where(known <= column.zero_offset, 0.0, known)
    assert found.numpy() == pytest.approx(known, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("column", "values", "rule"), every())
def test_log_volume_is_the_derivative_of_encoding(column, values, rule):
    _, fitted = one_column(column, values, rule)
    coded = torch.linspace(0.2, 0.9, 5).unsqueeze(-1)
    step = 1e-6
    if column.kind.whole:
        slope = np.ones((5, 1))  # probabilities need no volume
    else:
        slope = (fitted.decode(coded + step) - fitted.decode(coded - step)) / (2 * step)
    assert fitted.log_volume(coded).numpy() == pytest.approx(-np.log(slope), abs=1e-6)


@pytest.mark.parametrize(("column", "values", "rule"), every(("log",)))
@pytest.mark.parametrize("parameters", ["natural", "moments"])
def test_slopes_are_finite_differences(column, values, rule, parameters):
    fitted = Preprocessing.fit(rows(values), Schema((column,)))
    heads = TableLikelihood(Schema((column,)), [fitted], parameters=parameters)
    targets = heads.targets(fitted.encode(rows(values)).values.double())
    raw = raw_parameters(heads, len(values)).requires_grad_()
    assert torch.autograd.gradcheck(lambda p: heads.log_prob(p, targets), raw)


@pytest.mark.parametrize(("column", "values", "rule"), every(("log",)))
def test_marginals_fit_better_than_others(column, values, rule):
    heads, fitted = one_column(column, values)
    targets = heads.targets(fitted.encode(rows(values)).values.double())
    start = heads.marginal(targets, torch.ones(len(values), 1))
    best = heads.log_prob(start.expand(len(values), -1), targets).sum()
    for seed in range(5):
        location = 2 * raw_parameters(heads, 1, seed=seed)
        if not column.kind.whole:
            location[..., 1] = start[1]  # of deviation 1, as the column has it
        assert heads.log_prob((start + location).expand(len(values), -1), targets).sum() < best


@pytest.mark.parametrize(("column", "values", "rule"), every())
def test_guesses_draws_and_expectations_can_be_told_of_data(column, values, rule):
    heads, fitted = one_column(column, values, rule)
    eta = heads.constrain(raw_parameters(heads, 1, 50))
    drawn, mode, mean = heads.sample(eta), heads.point(eta), heads.point(eta, "mean")
    for found in (drawn, mode, mean, heads.decide(heads.expectation(eta))):
        assert found.shape == (1, 50, 1)
        assert found.dtype == torch.float64
        assert found.isfinite().all()
    if column.kind.whole:
        assert (drawn == drawn.floor()).all()
        assert (mode == mode.floor()).all()
        assert drawn.min() >= fitted.shift.item()
    if column.kind.nominal:
        assert drawn.max() < column.size
    if column.kind.above_zero:
        assert drawn.min() >= 0


@pytest.mark.parametrize(("column", "values", "rule"), every(("log",)))
@pytest.mark.parametrize("encoding", ["one-hot", "codes", "hivae"])
def test_inputs_tell_cells_apart(column, values, rule, encoding):
    heads, fitted = one_column(column, values)
    coded = fitted.encode(rows(values)).values
    inputs, owners = encoder_inputs(coded, heads, encoding)
    assert inputs.shape == (len(values), len(owners))
    assert (owners == 0).all()
    assert len(inputs.unique(dim=0)) == len(coded.unique())
    if encoding == "codes":
        assert len(owners) == 1


@pytest.mark.parametrize(("column", "values", "rule"), every(("log1p",)))
def test_hivae_has_a_head(column, values, rule):
    heads, fitted = one_column(column, values, rule)
    inputs, _ = encoder_inputs(fitted.encode(rows(values)).values.double(), heads, "hivae")
    model = HIVAE(inputs.shape[-1], heads, seeds=[0], n_latent=2, n_components=2, n_y=2)
    outputs = model.decode(model.infer(inputs.unsqueeze(0), torch.randn(1, 1, len(inputs), model.n_noise)))
    eta = model.natural(outputs)
    assert eta.shape == (1, 1, len(inputs), heads.n_parameters)
    targets = heads.targets(fitted.encode(rows(values)).values.double())
    heads.log_prob(eta, targets, natural=True).sum().backward()
    for p in (model.to_y.weight, model.from_y.weight, model.from_s.weight):
        assert p.grad.isfinite().all()
        assert (p.grad != 0).any()


def test_numbers_come_first_and_columns_of_a_density_are_neighbours():
    heads, _ = likelihood()
    numeric = [SCHEMA.columns[d].kind.numeric for d in heads.order]
    assert numeric == sorted(numeric, reverse=True)
    assert sum(numeric) == heads.n_numbers
    assert [(type(d).__name__, d.n) for d in heads.densities] == [
        ("Gaussian", 4),
        ("Poisson", 2),
        ("Bernoulli", 2),
        ("Categorical", 2),
        ("Categorical", 1),
    ]
    # saved models depend on this order: by kind, ordinal columns among categorical ones, by size, as in the schema
    assert heads.names == [
        "income", "warmth", "price", "area", "visits", "children", "sex", "member", "grade", "colour", "region",
    ]  # fmt: skip


def test_copies_have_units_of_their_own():
    heads, _ = likelihood(replicas=2)
    other = copy.deepcopy(heads)
    other.keep(torch.tensor([1]))
    eta = heads.constrain(raw_parameters(heads, 2, 5))
    assert heads.point(eta).shape == (2, 5, len(SCHEMA))
    assert (other.point(eta[1:])[0] == heads.point(eta)[1]).all()
    assert not heads.state_dict()  # files hold no units: they come from the preprocessing


def test_units_follow_the_likelihood():
    heads, _ = likelihood()
    assert heads.to("meta").groups[0].units.device.type == "meta"


def test_what_densities_leave_out():
    heads, fitted = likelihood()
    values = fitted.encode(table(9, missing=0.0)).values.double()
    left_out = heads.left_out(values)
    counts = [heads.names.index(name) for name in ("visits", "children")]
    rest = [i for i in range(len(SCHEMA)) if i not in counts]
    assert (left_out[:, rest] == 0).all()
    for i in counts:
        x = values[:, heads.order[i]]
        assert left_out[:, i].tolist() == pytest.approx([math.lgamma(v + 1) for v in x])


@pytest.mark.parametrize("kind", list(Kind))
def test_facts_agree(kind):
    assert kind.numeric != kind.nominal
    assert kind.whole or kind.numeric
    assert not kind.above_zero or (kind.numeric and not kind.whole)
    if kind.n_categories:
        with pytest.raises(ValueError, match=f"because its kind is {kind}"):
            Column("x", kind, tuple(range(kind.n_categories + 1)))
