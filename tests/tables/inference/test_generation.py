"""New rows: from the prior or from given codes, in the units of the data."""

import numpy as np
import pytest
import torch

from evenhand.tables.inference import rows_from_codes, rows_from_prior

from .._inputs import SCHEMA, table
from .test_inference import MODELS, fitted_model, generator


def one(model):
    """One replica."""
    return fitted_model(model, seeds=(0,))[0]


def check_units(rows):
    """Every column holds what its kind can hold."""
    for d, column in enumerate(SCHEMA):
        values = rows[:, d]
        if column.kind.nominal:
            assert set(values) <= set(range(column.size)), column.name
        elif column.kind == "count":
            assert (values == np.round(values)).all(), column.name
            assert values.min() >= (1 if column.name == "visits" else 0)
        elif column.kind == "positive":
            assert (values >= 0).all()
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("n", [1, 50])
@pytest.mark.parametrize("model", MODELS)
def test_rows_from_the_prior_have_the_form_of_the_table(model, n):
    rows = rows_from_prior(one(model), n, generator())
    assert rows.shape == (n, len(SCHEMA))
    assert rows.dtype == np.float64
    check_units(rows)


@pytest.mark.parametrize("model", MODELS)
def test_the_same_generator_gives_the_same_rows(model):
    module = one(model)
    first, again, other = (rows_from_prior(module, 20, generator(seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(0).all()  # every column is drawn anew
    torch.manual_seed(99)  # nothing comes from elsewhere
    np.testing.assert_array_equal(rows_from_prior(module, 20, generator(3)), first)


def test_units_are_those_of_the_data():
    """Heads without weights draw from one distribution for all z: that of their biases."""
    module = one("vae")
    with torch.no_grad():
        module.head.weight.zero_()
        module.head.bias.zero_()
    rows = rows_from_prior(module, 4000, generator())
    raw = table(20, missing=0.2)
    income = raw.values[raw.observed[:, 1], 1]
    # a natural parameter of 0 is a mean of 0 in the model, which is the mean of the data
    assert rows[:, 1].mean() == pytest.approx(income.mean(), abs=0.2 * income.std())
    assert 0.3 * income.std() < rows[:, 1].std() < 3 * income.std()
    assert rows[:, 3].mean() == pytest.approx(0.5, abs=0.05)  # a coin
    np.testing.assert_allclose(np.bincount(rows[:, 0].astype(int)) / 4000, 0.25, atol=0.05)
    assert rows[:, 2].mean() == pytest.approx(2, abs=0.1)  # visits: from one on, at rate exp(0)
    assert rows[:, 8].mean() == pytest.approx(1, abs=0.1)  # children: from zero on


def test_rows_from_codes_follow_the_codes():
    module = one("vae")
    codes = np.random.default_rng(0).normal(size=(30, module.n_latent))
    rows = rows_from_codes(module, codes, generator())
    assert rows.shape == (30, len(SCHEMA))
    check_units(rows)
    np.testing.assert_array_equal(rows, rows_from_codes(module, codes, generator()))
    # with the same noise, a row changes with its own code alone
    moved = codes.copy()
    moved[7] += 5
    changed = (rows_from_codes(module, moved, generator()) != rows).any(1)
    assert changed[7]
    continuous = [1, 6]  # counts take more or fewer random numbers
    other = rows_from_codes(module, moved, generator())[:, continuous]
    assert np.flatnonzero((other != rows[:, continuous]).any(1)).tolist() == [7]


def test_the_prior_is_standard_normal():
    module = one("vae")
    numbers = generator(5)
    codes = torch.randn(1, 1, 25, module.n_latent, generator=numbers)[0, 0].numpy()
    np.testing.assert_array_equal(rows_from_prior(module, 25, generator(5)), rows_from_codes(module, codes, numbers))


def test_components_of_hivae_are_drawn_evenly_and_move_z(monkeypatch):
    module = one("hivae")
    seen = []
    decode = module.decode
    monkeypatch.setattr(module, "decode", lambda latent: seen.append(latent) or decode(latent))
    rows_from_prior(module, 3000, generator())
    s, z = seen[0].s[0, 0], seen[0].z[0, 0]
    np.testing.assert_allclose(s.mean(0), 1 / 3, atol=0.04)
    assert ((s == 0) | (s == 1)).all()
    centres = module.prior_mean(torch.eye(3)[None]).detach()[0]
    for component in range(3):
        mine = z[s[:, component] == 1]
        torch.testing.assert_close(mine.mean(0), centres[component], atol=0.15, rtol=0)
        np.testing.assert_allclose(mine.std(0), 1, atol=0.1)


@pytest.mark.parametrize("model", MODELS)
def test_generating_leaves_weights_and_gradients_alone(model):
    module = one(model)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    rows_from_prior(module, 5, generator())
    assert all(torch.equal(tensor, module.state_dict()[name]) for name, tensor in before.items())
    assert all(p.grad is None for p in module.parameters())
