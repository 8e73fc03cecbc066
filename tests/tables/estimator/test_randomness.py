"""The same seed gives the same numbers, and nobody else's random numbers change."""

import numpy as np
import pytest
import torch

from ._tables import same, table, tiny

OPTIONS = [
    {"method": ["sum", "graddrop", "imtlg>>pcgrad"]},
    {"objective": "iwae", "n_samples": 3},
    {"objective": "dreg", "n_samples": 3},
    {"model": "hivae", "n_latent": None},
    {"model": "vaem"},
    {"aggregate": "median"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_seed_gives_the_same_numbers_and_another_others(options):
    frame = table()
    one, two, other = (tiny(**options, random_state=seed).fit(frame) for seed in (3, 3, 4))
    assert same(one.transform(frame), two.transform(frame))
    assert same(one.transform(frame), one.transform(frame))
    assert same(one.sample(20), two.sample(20))
    np.testing.assert_array_equal(one.score_samples(frame), two.score_samples(frame))
    assert one.selection_ == two.selection_
    assert one.history_ == two.history_
    assert not one.transform(frame).equals(other.transform(frame))
    assert not one.sample(20).equals(other.sample(20))
    assert one.score(frame) != other.score(frame)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_global_random_numbers_are_untouched(options):
    frame = table()
    ours, theirs = torch.get_rng_state(), np.random.get_state()[1].copy()
    estimator = tiny(**options).fit(frame)
    estimator.transform(frame)
    estimator.sample(5)
    estimator.sample(5, latent="prior")
    estimator.sample(5, given={"colour": "red"})
    estimator.sample_posterior(frame, 2)
    estimator.score_samples(frame)
    assert torch.equal(torch.get_rng_state(), ours)
    np.testing.assert_array_equal(np.random.get_state()[1], theirs)


def test_the_state_of_a_generator_is_the_same_as_its_seed():
    frame = table()
    one = tiny(random_state=5).fit(frame)
    two = tiny(random_state=np.random.RandomState(5)).fit(frame)
    assert same(one.sample(5), two.sample(5))


def test_without_a_seed_fits_differ():
    frame = table()
    one, two = (tiny(random_state=None).fit(frame) for _ in range(2))
    assert not one.transform(frame).equals(two.transform(frame))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_precisions_work(dtype):
    torch.set_default_dtype(dtype)
    estimator = tiny().fit(table())
    assert next(estimator.network_.parameters()).dtype == dtype
    assert estimator.score_samples(table()).dtype == np.float64
    torch.set_default_dtype(torch.float32)  # what others set later does not matter
    assert np.isfinite(estimator.score(table()))
    assert not estimator.transform(table()).isna().any(axis=None)
    assert len(estimator.sample(5)) == 5
