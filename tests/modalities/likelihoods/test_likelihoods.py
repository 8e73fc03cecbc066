"""Likelihoods of whole modalities: densities against scipy and torch, and every promise of the contract."""

import copy
import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.integrate
import scipy.stats
import torch
from torch import distributions as td
from torch.nn import functional as F

from evenhand.modalities.likelihoods import (
    Bernoulli,
    Categorical,
    Laplace,
    Likelihood,
    LogNormal,
    Normal,
    Poisson,
    Table,
)
from evenhand.tables.schema import Column, Schema

SHAPES = [(), (3,), (2, 3, 4)]
LEADING = [(), (5,), (2, 3)]
B = 4


def learnt(raw):
    return F.softplus(raw) + 1e-3


def last(parameters):
    return parameters[..., 0], learnt(parameters[..., 1])


# name: likelihood, torch's distribution of it, what items are drawn from
CASES = {
    "normal": (Normal(0.3), lambda p: td.Normal(p, 0.3), torch.randn),
    "normal, learnt": (Normal(), lambda p: td.Normal(*last(p)), torch.randn),
    "log-normal": (LogNormal(0.3), lambda p: td.LogNormal(p, 0.3), lambda s: torch.rand(s) + 0.1),
    "log-normal, learnt": (LogNormal(), lambda p: td.LogNormal(*last(p)), lambda s: torch.rand(s) + 0.1),
    "laplace": (Laplace(), lambda p: td.Laplace(p, 0.75), torch.randn),
    "laplace, learnt": (Laplace(None), lambda p: td.Laplace(*last(p)), torch.randn),
    "bernoulli": (Bernoulli(), lambda p: td.Bernoulli(logits=p), lambda s: torch.rand(s).round()),
    "categorical": (Categorical(5), lambda p: td.Categorical(logits=p), lambda s: torch.randint(5, s)),
    "poisson": (Poisson(), lambda p: td.Poisson(p.exp()), lambda s: torch.randint(9, s).double()),
}
everyone = pytest.mark.parametrize("name", CASES)


def parameters_for(likelihood, shape, leading=(), rows=B):
    return torch.randn(*leading, rows, *likelihood.parameter_shape(shape))


# Densities


@everyone
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("leading", LEADING)
def test_log_prob_is_that_of_torch(name, shape, leading):
    likelihood, reference, draw = CASES[name]
    parameters, x = parameters_for(likelihood, shape, leading), draw((B, *shape))
    expected = reference(parameters).log_prob(x).reshape(*leading, B, -1).sum(-1)
    found = likelihood.log_prob(parameters, likelihood.prepare(x))
    assert found.shape == (*leading, B)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("x", [0.01, 0.8, 7.0])
@pytest.mark.parametrize("location", [-1.0, 0.4])
def test_log_prob_is_that_of_scipy(x, location):
    parameters, item = torch.tensor([location]), torch.tensor([x])
    found = [f.log_prob(parameters, item).item() for f in (Normal(0.7), LogNormal(0.7), Laplace(0.7))]
    laws = [
        scipy.stats.norm(location, 0.7),
        scipy.stats.lognorm(0.7, scale=math.exp(location)),
        scipy.stats.laplace(location, 0.7),
    ]
    assert found == pytest.approx([law.logpdf(x) for law in laws], rel=1e-10)
    count = Poisson().log_prob(parameters, torch.tensor([3.0])).item()
    assert count == pytest.approx(scipy.stats.poisson(math.exp(location)).logpmf(3), rel=1e-10)


@pytest.mark.parametrize("name", ["normal", "normal, learnt", "laplace", "laplace, learnt", "log-normal"])
def test_densities_integrate_to_one(name):
    likelihood, low = CASES[name][0], 1e-9 if "log" in name else -30.0
    parameters = parameters_for(likelihood, (), rows=1)

    def density(x):
        return likelihood.log_prob(parameters, torch.tensor([x])).exp().item()

    total, _ = scipy.integrate.quad(
        density, low, 30.0, points=[0.1, 0.5, 1.0, parameters.flatten()[0].item()], limit=200
    )
    assert total == pytest.approx(1, abs=1e-6)


def test_probabilities_sum_to_one():
    logits = torch.randn(1, 2, 3)
    texts = torch.tensor(list(itertools.product(range(3), repeat=2)))
    total = Categorical(3).log_prob(logits.expand(9, -1, -1), texts).exp().sum()
    assert total.item() == pytest.approx(1)
    images = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)))
    assert Bernoulli().log_prob(torch.randn(1, 3).expand(8, -1), images).exp().sum().item() == pytest.approx(1)
    counts = torch.arange(60.0)
    assert Poisson().log_prob(torch.full((60,), 1.7), counts).exp().sum().item() == pytest.approx(1)


def test_grey_pixels_have_their_cross_entropy():
    logits, x = torch.randn(B, 3), torch.rand(B, 3)
    expected = (x * logits - F.softplus(logits)).sum(-1)
    torch.testing.assert_close(Bernoulli().log_prob(logits, x), expected)


def test_a_certain_bernoulli_keeps_its_tail():
    found = Bernoulli().log_prob(torch.tensor([[30.0]]), torch.ones(1, 1)).item()
    assert found == pytest.approx(-math.exp(-30), rel=1e-6, abs=0)


def test_channels_last_are_the_same_numbers():
    parameters, x = torch.randn(B, 3, 8, 8), torch.rand(B, 3, 8, 8)
    expected = Normal(1.0).log_prob(parameters, x)
    torch.testing.assert_close(Normal(1.0).log_prob(parameters.to(memory_format=torch.channels_last), x), expected)


# Precision


@everyone
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_is_summed_in_single(name, half):
    likelihood, _, draw = CASES[name]
    parameters, x = parameters_for(likelihood, (40, 40)).to(half), draw((B, 40, 40))
    x = likelihood.prepare(x.float() if x.is_floating_point() else x)
    expected = likelihood.log_prob(parameters.double(), x)
    for values in (x, x.to(half) if x.is_floating_point() else x):
        found = likelihood.log_prob(parameters, values)
        assert found.dtype == torch.float32
        if values is x:
            torch.testing.assert_close(found.double(), expected.double(), rtol=1e-5, atol=1e-3)
    assert likelihood.mean(parameters).dtype == torch.float32


@everyone
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [0.0, -60.0, 60.0, -1e4, 1e4])
def test_gradients_are_finite_at_extremes(name, dtype, size):
    likelihood, _, draw = CASES[name]
    shape = likelihood.parameter_shape((3,))
    parameters = torch.full((B, *shape), size, dtype=dtype, requires_grad=True)
    x = draw((B, 3)).to(torch.long if name == "categorical" else dtype)
    log_p = likelihood.log_prob(parameters, x)
    log_p.sum().backward()
    assert log_p.isfinite().all()
    assert parameters.grad.isfinite().all()
    for f in (likelihood.mean, likelihood.guess, likelihood.sample):
        assert f(parameters.detach()).isfinite().all()


@pytest.mark.parametrize("log_rate", [-100.0, 100.0, 1e6])
def test_rates_out_of_bounds_are_led_back(log_rate):
    parameters = torch.full((1, 1), log_rate, requires_grad=True)
    Poisson().log_prob(parameters, torch.tensor([[3.0]])).backward()
    bounded = math.exp(min(max(log_rate, -14.0), 16.0))
    assert parameters.grad.item() == pytest.approx(3 - bounded)
    assert Poisson().mean(parameters).item() == pytest.approx(bounded)


def test_slopes_of_counts():
    x = torch.tensor([[0.0, 4.0]])
    assert torch.autograd.gradcheck(lambda p: Poisson().log_prob(p, x), torch.randn(1, 2, requires_grad=True))


# Shapes and forms


@everyone
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_fit_together(name, shape):
    likelihood, _, draw = CASES[name]
    x = likelihood.prepare(draw((B, *shape)))
    assert x.shape == (B, *shape)
    assert likelihood.inputs(x).shape == (B, *likelihood.input_shape(shape))
    assert likelihood.inputs(x).dtype == torch.get_default_dtype()
    assert likelihood.item_shape(likelihood.parameter_shape(shape)) == shape
    parameters = parameters_for(likelihood, shape, (2,))
    mean_shape = (*shape, 5) if name == "categorical" else shape
    assert likelihood.mean(parameters).shape == (2, B, *mean_shape)
    for values in (likelihood.guess(parameters), likelihood.sample(parameters)):
        assert values.shape == (2, B, *shape)
        likelihood.check(values)
        assert likelihood.log_prob(parameters[0], likelihood.prepare(values[0])).isfinite().all()


@everyone
def test_parameters_of_another_shape_are_refused(name):
    likelihood, _, draw = CASES[name]
    x = likelihood.prepare(draw((B, 3)))
    for wrong in ((B, 1), (B, 4), (1, 3), (3,)):
        parameters = torch.randn(*wrong, *likelihood.parameter_shape(()))
        with pytest.raises(ValueError, match=r"parameters should have the shape \[\.\.\., 4, 3"):
            likelihood.log_prob(parameters, x)


@pytest.mark.parametrize("likelihood", [Normal(), LogNormal(), Laplace(None)])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1)])
def test_a_learnt_scale_needs_an_axis_of_two(likelihood, shape):
    with pytest.raises(
        ValueError, match="parameter_shape should end with an axis of 2, .* a location and a raw scale"
    ):
        likelihood.item_shape(shape)


def test_categories_need_their_axis():
    with pytest.raises(ValueError, match=r"parameter_shape should end with an axis of 5, .* Found \[8, 4\]"):
        Categorical(5).item_shape((8, 4))


@pytest.mark.parametrize("likelihood", [Normal(1.0), Laplace(), LogNormal(), Bernoulli()])
def test_prepare_numbers(likelihood):
    pixels = torch.tensor([[0, 51, 255]], dtype=torch.uint8)
    torch.testing.assert_close(likelihood.prepare(pixels), torch.tensor([[0.0, 0.2, 1.0]]))
    torch.testing.assert_close(likelihood.prepare(pixels.int()), torch.tensor([[0.0, 51.0, 255.0]]))
    torch.testing.assert_close(likelihood.prepare(pixels > 60), torch.tensor([[0.0, 0.0, 1.0]]))
    for dtype in (torch.float16, torch.float32):
        x = torch.rand(2, 3).to(dtype)
        assert likelihood.prepare(x) is x


def test_prepare_counts_and_codes():
    small = torch.tensor([[0, 3, 200]], dtype=torch.uint8)
    torch.testing.assert_close(Poisson().prepare(small), torch.tensor([[0.0, 3.0, 200.0]]))
    assert Categorical(201).prepare(small).tolist() == [[0, 3, 200]]
    assert Categorical(3).prepare(torch.tensor([2.0, 1.0])).dtype == torch.long


def test_encoders_see():
    x = torch.tensor([[1.0, 4.0]])
    torch.testing.assert_close(Poisson().inputs(x), torch.log(1 + x))
    torch.testing.assert_close(LogNormal().inputs(x), x.log())
    assert Normal(1.0).inputs(x) is x
    assert Categorical(3).inputs(torch.tensor([[2, 0]])).tolist() == [[[0, 0, 1], [1, 0, 0]]]


def test_dimensions_are_counted_as_in_the_paper():
    assert Normal(1.0).dimension((3, 28, 28)) == Normal().dimension((3, 28, 28)) == 3 * 28 * 28
    assert Categorical(71).dimension((8,)) == 568
    assert Categorical(10).dimension(()) == 10
    assert Bernoulli().dimension(()) == 1


# Means, guesses and draws


def test_means_and_guesses():
    p = torch.tensor([[-0.5, 1.2]])
    pair = torch.tensor([[[-0.5, 3.0], [1.2, -2.0]]])
    for likelihood, parameters in ((Normal(2.0), p), (Laplace(), p), (Normal(), pair)):
        torch.testing.assert_close(likelihood.mean(parameters), p)
        torch.testing.assert_close(likelihood.guess(parameters), p)
    torch.testing.assert_close(LogNormal(0.5).guess(p), p.exp())
    torch.testing.assert_close(LogNormal().mean(pair), td.LogNormal(*last(pair)).mean)
    torch.testing.assert_close(Bernoulli().mean(p), p.sigmoid())
    assert Bernoulli().guess(p).tolist() == [[0, 1]]
    torch.testing.assert_close(Poisson().mean(p), p.exp())
    assert Poisson().guess(p).tolist() == [[0, 3]]
    torch.testing.assert_close(Categorical(2).mean(p), p.softmax(-1))
    assert Categorical(2).guess(p).tolist() == [1]


@everyone
def test_draws_follow_the_distribution(name):
    likelihood, reference, _ = CASES[name]
    parameters = 0.5 * parameters_for(likelihood, (2,), rows=1)
    many = likelihood.sample(parameters.expand(20_000, *parameters.shape[1:]), torch.Generator().manual_seed(1))
    law = reference(parameters[0])
    if name == "categorical":
        found = F.one_hot(many, 5).double().mean(0)
        torch.testing.assert_close(found, law.probs, atol=0.02, rtol=0)
        return
    torch.testing.assert_close(many.mean(0), law.mean, atol=0.02, rtol=0.05)
    torch.testing.assert_close(many.std(0), law.stddev, atol=0.02, rtol=0.08)
    if name not in ("bernoulli", "poisson"):  # Kolmogorov and Smirnov: not only two moments but the shape
        assert (law.cdf(many).sort(0).values - torch.linspace(0, 1, 20_000).unsqueeze(-1)).abs().max() < 0.02


@everyone
def test_draws_repeat_with_their_generator(name):
    likelihood = CASES[name][0]
    parameters = parameters_for(likelihood, (20,))
    first, again, other = (likelihood.sample(parameters, torch.Generator().manual_seed(s)) for s in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


# Mistakes


@pytest.mark.parametrize(
    ("likelihood", "x", "message"),
    [
        (Categorical(3), [0, 5, 3], "whole numbers from 0 to 2, one for each of 3 categories. Found 3; number the"),
        (Categorical(3), [0, -1, 3], "Found -1; number the categories from 0, or make n of Categorical larger"),
        (Categorical(3), [0.0, 1.5, 0.5, 7.0], "Found 0.5"),
        (Poisson(), [0, -2, 3], "whole numbers, 0 or more. Found -2"),
        (Poisson(), [0.0, 2.5], "Found 2.5; use Normal or LogNormal"),
        (Poisson(), [0.0, math.inf, -math.inf], "Found -inf"),
        (LogNormal(), [1.0, 0.0], "above zero. Found 0; add a small number to all, or use Normal"),
        (LogNormal(), [1, -3], "Found -3"),
        (Bernoulli(), [0.5, 1.25, 7.0], "from 0 to 1. Found 1.25; scale them, or use Normal"),
        (Bernoulli(), [0, -1], "Found -1"),
    ],
)
def test_values_of_another_kind(likelihood, x, message):
    with pytest.raises(ValueError, match=f"^values should be .*{message}"):
        likelihood.check(torch.tensor(x))


def test_values_of_the_kind_pass():
    Categorical(300).check(torch.tensor([0, 255], dtype=torch.uint8))
    Categorical(3).check(torch.tensor([0.0, 2.0]))
    Categorical(2).check(torch.tensor([False, True]))
    Poisson().check(torch.tensor([0, 1, 10**9]))
    Bernoulli().check(torch.tensor([0.0, 0.3, 1.0]))
    Bernoulli().check(torch.tensor([False, True]))
    Bernoulli().check(torch.tensor([0, 200], dtype=torch.uint8))
    LogNormal().check(torch.tensor([1e-30]))
    Normal().check(torch.tensor([-1e30]))
    for likelihood, _, _ in CASES.values():
        likelihood.check(torch.empty(0, 3))
        likelihood.check(torch.empty(0, 3, dtype=torch.uint8))


def test_codes_beyond_bytes_are_seen():
    with pytest.raises(ValueError, match="Found 250"):
        Categorical(250).check(torch.tensor([0, 251, 250], dtype=torch.uint8))


def test_zeros_and_ones_in_bytes_are_no_pixels():
    with pytest.raises(ValueError, match="values should be pixels from 0 to 255 .* Found none above 1; convert"):
        Bernoulli().check_learnt(torch.tensor([0, 1], dtype=torch.uint8))
    Bernoulli().check(torch.tensor([0, 1], dtype=torch.uint8))  # of few items it cannot be said
    for likelihood in (Categorical(2), Poisson()):
        likelihood.check_learnt(torch.tensor([0, 1], dtype=torch.uint8))  # codes and counts


@pytest.mark.parametrize("kind", [Normal, LogNormal, Laplace])
@pytest.mark.parametrize("scale", [0, -1.0, math.inf, math.nan, "1", True])
def test_bad_scales(kind, scale):
    with pytest.raises(ValueError, match="scale should be a number > 0. Found"):
        kind(scale)


@pytest.mark.parametrize("n", [1, 2.0, "3", True, None])
def test_bad_numbers_of_categories(n):
    with pytest.raises(ValueError, match="n should be an integer >= 2. Found"):
        Categorical(n)


# Modules


def test_they_print():
    likelihoods = (Normal(), Normal(0.5), LogNormal(), Laplace(), Bernoulli(), Categorical(71), Poisson())
    assert [repr(likelihood) for likelihood in likelihoods] == [
        "Normal(scale=None)",
        "Normal(scale=0.5)",
        "LogNormal(scale=None)",
        "Laplace(scale=0.75)",
        "Bernoulli()",
        "Categorical(71)",
        "Poisson()",
    ]


def test_likelihoods_are_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Likelihood()


class Exponential(Likelihood):
    """A user's own: one log-rate for each waiting time."""

    def log_prob(self, parameters, x):
        return (parameters - parameters.exp() * x).sum(dim=tuple(range(1 - x.ndim, 0)))

    def mean(self, parameters):
        return (-parameters).exp()

    def sample(self, parameters, generator=None):
        return torch.empty_like(parameters).exponential_(generator=generator) * self.mean(parameters)


def test_a_users_own():
    likelihood, parameters, x = Exponential(), torch.randn(2, B, 3), torch.rand(B, 3)
    likelihood.check(x)
    assert likelihood.prepare(x) is likelihood.inputs(x) is x
    assert likelihood.item_shape((3,)) == likelihood.parameter_shape((3,)) == likelihood.input_shape((3,)) == (3,)
    assert likelihood.dimension((3, 2)) == 6
    expected = td.Exponential(parameters.exp()).log_prob(x).sum(-1)
    torch.testing.assert_close(likelihood.log_prob(parameters, x), expected)
    assert torch.equal(likelihood.guess(parameters), likelihood.mean(parameters))
    assert repr(likelihood) == "Exponential()"


# Tables

SCHEMA = Schema(
    (
        Column("region", "categorical", ("n", "e", "s", "w")),
        Column("income", "real"),
        Column("visits", "count"),  # from one
        Column("sex", "binary", ("f", "m")),
        Column("price", "positive"),
        Column("children", "count"),
        Column("grade", "ordinal", (1, 2, 3)),
    )
)
P, INPUTS = 4 + 2 + 1 + 1 + 2 + 1 + 3, 4 + 1 + 1 + 1 + 1 + 1 + 3 + 7


def people(n=60, missing=True):
    rng = np.random.default_rng(0)
    columns = {
        "region": pd.Categorical(rng.choice(list("nesw"), n), categories=list("nesw")),
        "income": rng.normal(50, 7, n).astype(np.float32),
        "visits": pd.array(rng.poisson(4, n) + 1, dtype="Int64"),
        "sex": rng.choice(["f", "m"], n).astype(object),
        "price": rng.lognormal(2, 0.6, n),
        "children": pd.array(rng.poisson(1, n), dtype="Int64"),
        "grade": pd.Categorical(rng.choice([1, 2, 3], n), categories=[1, 2, 3], ordered=True),
    }
    frame = pd.DataFrame(columns)
    return frame.mask(rng.random(frame.shape) < 0.2) if missing else frame


def test_a_table_has_shapes():
    table = Table(people(), SCHEMA)
    x = table.read(people())
    assert table.schema == SCHEMA
    assert table.shape == (7,)
    assert x.shape == (60, 7)
    assert x.dtype == torch.get_default_dtype()
    assert torch.equal(x.isnan(), torch.tensor(people().isna().to_numpy()))
    assert table.prepare(x) is x
    assert table.input_shape((7,)) == (INPUTS,)
    assert table.inputs(x).shape == (60, INPUTS)
    assert table.parameter_shape((7,)) == (P,)
    assert table.item_shape((P,)) == (7,)
    assert table.dimension((7,)) == 7
    table.check(x)
    assert repr(table) == "Table(7 columns: 1 categorical, 1 real, 2 count, 1 binary, 1 positive, 1 ordinal)"


def test_numbers_are_standardised():
    frame = people(missing=False)
    x = Table(frame, SCHEMA).read(frame)
    for d, numbers in ((1, frame.income), (4, np.log(frame.price))):
        expected = (numbers.to_numpy() - numbers.mean()) / numbers.std(ddof=0)
        assert x[:, d].numpy() == pytest.approx(expected, abs=1e-5)
    assert x[:, 2].tolist() == (frame.visits - 1).tolist()


def test_overrides_and_guesses():
    frame = people(200)
    assert Table(frame).schema["region"].kind == "categorical"
    assert Table(frame, {"visits": "real"}).schema["visits"].kind == "real"


@pytest.mark.parametrize("leading", LEADING)
def test_log_prob_of_a_table_is_that_of_its_columns(leading):
    table = Table(people(missing=False), SCHEMA)
    x = table.read(people(missing=False))
    parameters = torch.randn(*leading, 60, P)
    # inside, kinds stand in order: income, price, visits, children, sex, then grade (3) and region (4)
    mean, raw, log_rate, logit, grade, region = parameters.split([2, 2, 2, 1, 3, 4], -1)
    precision = F.softplus(raw) + 1e-4
    expected = (
        td.Normal(mean, precision.rsqrt()).log_prob(x[:, [1, 4]]).sum(-1)
        + td.Poisson(log_rate.exp()).log_prob(x[:, [2, 5]]).sum(-1)
        + td.Bernoulli(logits=logit).log_prob(x[:, [3]]).sum(-1)
        + td.Categorical(logits=grade).log_prob(x[:, 6])
        + td.Categorical(logits=region).log_prob(x[:, 0])
    )
    found = table.log_prob(parameters, x)
    assert found.shape == (*leading, 60)
    torch.testing.assert_close(found, expected)
    assert torch.autograd.gradcheck(lambda p: table.log_prob(p, x[:2]), parameters[..., :2, :].requires_grad_())


def test_missing_cells_have_no_influence():
    table = Table(people(), SCHEMA)
    x = table.read(people())
    parameters = torch.randn(60, P, requires_grad=True)
    for d in range(7):
        hidden = x.clone()
        hidden[:, d] = torch.nan
        owned = [i for i, h in enumerate(table.likelihood.heads.tolist()) if table.likelihood.order[h] == d]
        other = parameters.detach().clone()
        other[:, owned] = 50.0
        found = table.log_prob(parameters, hidden)
        assert torch.equal(found, table.log_prob(other, hidden))
        slopes = torch.autograd.grad(found.sum(), parameters)[0]
        assert (slopes[:, owned] == 0).all()
        assert slopes.isfinite().all()
    assert torch.equal(table.log_prob(parameters, torch.full_like(x, torch.nan)), torch.zeros(60))


def test_cells_add_up():
    table = Table(people(), SCHEMA)
    x = table.read(people(missing=False))
    parameters = torch.randn(60, P)
    alone = []
    for d in range(7):
        only = torch.full_like(x, torch.nan)
        only[:, d] = x[:, d]
        alone.append(table.log_prob(parameters, only))
    torch.testing.assert_close(sum(alone), table.log_prob(parameters, x))
    assert all((part != 0).all() for part in alone)


def test_encoders_see_which_cells_are_there():
    table = Table(people(), SCHEMA)
    x = table.read(people())
    seen = table.inputs(x)
    encoded, mask = seen.split([INPUTS - 7, 7], -1)
    assert torch.equal(mask.bool(), ~x.isnan()[:, table.likelihood.order])
    assert not seen.isnan().any()
    # a one for each category that is seen, and none for one that is missing
    assert torch.equal(encoded[:, -4:].sum(-1), (~x[:, 0].isnan()).double())
    assert torch.equal(encoded[:, -4:].argmax(-1)[~x[:, 0].isnan()], x[~x[:, 0].isnan(), 0].long())
    torch.testing.assert_close(encoded[:, 2], x[:, 2].log1p().nan_to_num())
    torch.testing.assert_close(encoded[:, 0], x[:, 1].nan_to_num())


def test_a_row_alone_gets_the_same():
    table = Table(people(), SCHEMA)
    x = table.read(people())
    parameters = torch.randn(60, P)
    torch.testing.assert_close(table.log_prob(parameters[7:8], x[7:8]), table.log_prob(parameters, x)[7:8])
    torch.testing.assert_close(table.read(people().iloc[7:8]), x[7:8], equal_nan=True)


def library(name, frame):
    if name == "pandas":
        return frame
    plain = frame.assign(region=frame.region.astype(object), grade=frame.grade.astype(object))
    arrow = pa.Table.from_pandas(plain, preserve_index=False)
    return pl.from_arrow(arrow) if name == "polars" else arrow


def types(frame):
    if isinstance(frame, pa.Table):
        return frame.schema.types
    return list(frame.dtypes)


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_guesses_and_draws_become_a_frame(name):
    frame = library(name, people())
    table = Table(frame, SCHEMA)
    parameters = torch.randn(9, P)
    for values in (table.guess(parameters), table.sample(parameters), table.guess(parameters.to(torch.bfloat16))):
        assert values.shape == (9, 7)
        table.check(values)
        made = table.frame(values)
        assert type(made) is type(frame)
        assert list(getattr(made, "column_names", made.columns)) == list(SCHEMA.names)
        assert types(made) == types(frame)
        torch.testing.assert_close(table.read(made), values.double(), atol=1e-5, rtol=1e-5)


def test_what_is_read_comes_back():
    frame = people(missing=False)
    table = Table(frame, SCHEMA)
    pd.testing.assert_frame_equal(table.frame(table.read(frame)), frame, rtol=1e-5)


def test_days_stay_whole():
    frame = pd.DataFrame({"day": pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(0, 90, 3), "D")})
    table = Table(frame)
    made = table.frame(table.sample(torch.zeros(40, *table.parameter_shape((1,)))))
    assert made.dtypes.tolist() == frame.dtypes.tolist()
    assert (made.day == made.day.dt.normalize()).all()


def test_guesses_are_the_most_probable():
    table = Table(people(), SCHEMA)
    parameters = torch.randn(3, 8, P)
    guess = table.guess(parameters)
    assert guess.shape == (3, 8, 7)
    best = table.log_prob(parameters[0], guess[0])
    for _ in range(20):
        assert (table.log_prob(parameters[0], table.sample(parameters[0])) <= best + 1e-9).all()


def test_numbers_stay_in_the_range_of_the_frame():
    frame = people()
    table = Table(frame, SCHEMA)
    x = table.read(frame)
    numbers = [1, 2, 4, 5]
    low, high = np.nanmin(x, 0)[numbers], np.nanmax(x, 0)[numbers]
    for parameters in (torch.full((50, P), 8.0), torch.full((50, P), -8.0)):
        for values in (table.guess(parameters), table.sample(parameters)):
            found = values.numpy()[:, numbers]
            assert (found >= low).all()
            assert (found <= high).all()


def test_means_of_a_table_stand_in_the_order_of_the_schema():
    table = Table(people(), SCHEMA)
    parameters = torch.randn(2, 5, P)
    mean, _, log_rate, logit, grade, region = parameters.split([2, 2, 2, 1, 3, 4], -1)
    rate = log_rate.exp()
    expected = [region.softmax(-1), mean[..., :1], rate[..., :1], logit.sigmoid(), mean[..., 1:], rate[..., 1:]]
    torch.testing.assert_close(table.mean(parameters), torch.cat([*expected, grade.softmax(-1)], -1))


def test_draws_of_a_table_repeat_with_their_generator():
    table, parameters = Table(people(), SCHEMA), torch.randn(20, P)
    first, again, other = (table.sample(parameters, torch.Generator().manual_seed(s)) for s in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_table_is_a_module(name):
    table = Table(library(name, people()), SCHEMA)
    x, parameters = table.read(library(name, people())), torch.randn(60, P)
    expected, guess = table.log_prob(parameters, x), table.guess(parameters)
    assert table.guess(parameters.float()).dtype == torch.float32  # although its limits are in double precision
    copied = copy.deepcopy(table)
    copied.load_state_dict(table.state_dict())
    torch.testing.assert_close(copied.log_prob(parameters, x), expected)
    single = copied.float()
    found = single.log_prob(parameters.float(), x)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)
    assert single.guess(parameters.float()).dtype == torch.float32
    assert torch.equal(table.double().guess(parameters), guess)
    assert table.log_prob(parameters.to(torch.bfloat16), x).dtype == torch.float32
    assert next(table.to("meta").buffers()).is_meta


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: f.drop(columns="income"),
            "frame should have the columns of the schema. Found none called 'income'",
        ),
        (lambda f: f.assign(x=1.0), "frame should have no columns that the schema does not know. Found 'x'"),
        (lambda f: f.assign(sex="d"), "column 'sex' should hold the categories of the schema only. Found 'd'"),
        (lambda f: f.assign(visits=-1), "column 'visits'"),
    ],
)
def test_frames_that_do_not_fit(change, message):
    with pytest.raises(ValueError, match=message):
        Table(people(), SCHEMA).read(change(people()))


def test_unseen_categories_can_be_missing():
    with pytest.warns(UserWarning, match="column 'sex' has categories that the schema lacks"):
        x = Table(people(), SCHEMA).read(people().assign(sex="d"), unseen="missing")
    assert x[:, 3].isnan().all()


def test_tables_without_values():
    with pytest.raises(
        ValueError, match="frame should have values in all columns of the schema. Found none in income"
    ):
        Table(people().assign(income=np.nan), SCHEMA)
    with pytest.raises(
        ValueError, match="frame should have a column to learn from. All are ignored: {'a': 'no use'}"
    ):
        Table(pd.DataFrame({"a": [1.0]}), Schema((), {"a": "no use"}))


def test_shapes_that_are_not_of_the_table():
    table = Table(people(), SCHEMA)
    for f in (table.parameter_shape, table.input_shape, table.dimension):
        with pytest.raises(ValueError, match=r"shape should be \[7\], one number for every column. Found \[8\]"):
            f((8,))
    with pytest.raises(ValueError, match=rf"parameter_shape should be \[{P}\] for these columns. Found \[7\]"):
        table.item_shape((7,))
    with pytest.raises(ValueError, match=rf"parameters should have the shape \[\.\.\., 60, {P}\]"):
        table.log_prob(torch.zeros(60, P + 1), table.read(people()))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 4.0, "whole numbers from 0 to 3 in column 'region'. Found 4"),
        (3, 0.5, "whole numbers from 0 to 1 in column 'sex'. Found 0.5"),
        (5, -1.0, "whole numbers from 0 on in column 'children'. Found -1"),
    ],
)
def test_rows_that_were_not_read(place, value, message):
    table = Table(people(), SCHEMA)
    x = table.read(people())
    x[3, place] = value
    with pytest.raises(ValueError, match=f"^values should be .*{message}"):
        table.check(x)
    with pytest.raises(
        ValueError, match=r"^values should be rows of 7 numbers, .* Found torch.int64 of shape \[2, 7\]"
    ):
        table.check(torch.zeros(2, 7, dtype=torch.long))
    with pytest.raises(ValueError, match=r"^values should be rows of 7 numbers, .* of shape \[2, 6\]"):
        table.check(torch.zeros(2, 6))
