"""The mixture over latent codes."""

import numpy as np
import pytest

from evenhand.common import LatentMixture


def codes(n, seed=0):
    """Two correlated clusters."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.3
    noise = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.8], [0.0, 0.3]])
    return noise + np.where(first[:, None], [8.0, 0.0], [-4.0, 5.0])


def test_draws_have_the_moments_of_the_codes():
    latent = codes(5000)
    draws = LatentMixture(4).fit(latent, 0).sample(200_000, np.random.default_rng(1))
    np.testing.assert_allclose(draws.mean(0), latent.mean(0), atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), np.cov(latent.T), rtol=0.02, atol=0.05)
    assert np.mean(draws[:, 0] > 2) == pytest.approx(np.mean(latent[:, 0] > 2), abs=0.005)


def test_it_is_a_density_of_scikit_learn():
    from sklearn.mixture import GaussianMixture

    latent, mixture = codes(2000), LatentMixture(2).fit(codes(2000), 0)
    theirs = GaussianMixture(2, random_state=0).fit(latent)
    order = np.argsort(mixture.means_[:, 0]), np.argsort(theirs.means_[:, 0])
    covariances = mixture.factors_ @ mixture.factors_.transpose(0, 2, 1)
    np.testing.assert_allclose(mixture.weights_[order[0]], theirs.weights_[order[1]], atol=1e-3)
    np.testing.assert_allclose(mixture.means_[order[0]], theirs.means_[order[1]], atol=1e-2)
    np.testing.assert_allclose(covariances[order[0]], theirs.covariances_[order[1]], atol=1e-2)


def test_a_saved_mixture_draws_the_same():
    mixture = LatentMixture(3).fit(codes(300), 0)
    again = LatentMixture.from_state(mixture.state())
    draws = (m.sample(50, np.random.default_rng(2)) for m in (mixture, again))
    np.testing.assert_array_equal(*draws)
    assert again.n_components == 3


def test_seeds():
    a, b, c = (LatentMixture(20).fit(codes(500), seed).means_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_few_rows_have_few_components():
    assert len(LatentMixture().fit(codes(57), 0).weights_) == 5
    assert len(LatentMixture().fit(codes(3), 0).weights_) == 1


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr("evenhand.common._latent_mixture.MAX_ROWS", 100)
    assert len(LatentMixture().fit(codes(5000), 0).weights_) == 10


@pytest.mark.parametrize("latent", [np.ones((1, 3)), np.ones((50, 3)), np.zeros((50, 3)), 1e-3 * np.eye(4)])
def test_codes_without_spread(latent):
    draws = LatentMixture().fit(latent, 0).sample(100, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(0), latent.mean(0), atol=1e-3)


def test_no_draws():
    assert LatentMixture(2).fit(codes(100), 0).sample(0, np.random.default_rng(0)).shape == (0, 2)


@pytest.mark.parametrize("latent", [np.ones(5), np.ones((0, 2)), np.ones((5, 0))])
def test_wrong_shapes_are_named(latent):
    with pytest.raises(ValueError, match="latent should be a table of at least one row. Found the shape"):
        LatentMixture().fit(latent, 0)


def test_other_mistakes_are_named():
    with pytest.raises(ValueError, match="latent should be finite. Found 1 numbers"):
        LatentMixture().fit([[1.0, np.nan], [0.0, 0.0]], 0)
    with pytest.raises(ValueError, match="n_components should be at least 1. Found 0."):
        LatentMixture(0)
    with pytest.raises(RuntimeError, match="has not been fitted yet"):
        LatentMixture().sample(3, np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="has not been fitted yet"):
        LatentMixture().state()
    with pytest.raises(ValueError, match=r"state should hold weights, means and factors. Found \['means'\]."):
        LatentMixture.from_state({"means": np.zeros((1, 2))})
