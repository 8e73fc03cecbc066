"""A few samples stand for all: heavy ones for certain, light ones by chance, and sums are right on average."""

import pytest
import torch

from evenhand.modalities.training._selection import select

A, K, B, M = 2, 7, 3, 3


def weights(kind):
    x = torch.rand(A, K, B, generator=torch.Generator().manual_seed(1))
    if kind == "sharp":
        x = (20 * x).softmax(1)
    elif kind == "one":
        x = torch.nn.functional.one_hot(torch.tensor(4), K).double().view(1, K, 1).expand(A, K, B).clone()
    elif kind == "few":
        x[:, M:] = 0
    elif kind == "equal":
        x = torch.full((A, K, B), 1 / K)
    elif kind == "none":
        x = torch.zeros(A, K, B)
    return x


@pytest.mark.parametrize("kind", ["flat", "sharp", "one", "few", "equal"])
@pytest.mark.parametrize("number", [1, M, K])
def test_sums_are_right_on_average(kind, number):
    w, n = weights(kind), 4000
    total = torch.zeros(A, K, B)
    for i in range(n):
        found = select(w, number, torch.full((A, B), (i + 0.5) / n))  # all that a uniform number can be
        total.scatter_add_(1, found.index, found.weights)
    torch.testing.assert_close(total / n, w, atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("kind", ["flat", "sharp", "one", "few", "equal", "none"])
@pytest.mark.parametrize("number", [1, M, K])
@pytest.mark.parametrize("u", [0.0, 0.3, 0.999999])
def test_all_are_different_and_heavy_ones_are_among_them(kind, number, u):
    w = weights(kind)
    found = select(w, number, torch.full((A, B), u))
    assert found.index.shape == found.weights.shape == (A, number, B)
    for a in range(A):
        for b in range(B):
            chosen = found.index[a, :, b].tolist()
            assert len(set(chosen)) == number
            total = w[a, :, b].sum()
            heaviest = int(w[a, :, b].argmax())
            if w[a, heaviest, b] * number >= total > 0:
                assert heaviest in chosen
    assert (found.weights >= 0).all()
    torch.testing.assert_close(found.weights.sum(1), w.sum(1))  # the total is never left to chance


@pytest.mark.parametrize("kind", ["one", "few"])
def test_nothing_is_left_to_chance_where_few_have_weight(kind):
    w = weights(kind)
    for u in (0.0, 0.5, 0.9):
        found = select(w, M, torch.full((A, B), u))
        whole = torch.zeros(A, K, B).scatter_add_(1, found.index, found.weights)
        torch.testing.assert_close(whole, w)


def test_all_of_them_are_all_of_them():
    w = weights("sharp")
    found = select(w, K, torch.full((A, B), 0.4))
    torch.testing.assert_close(torch.zeros(A, K, B).scatter_add_(1, found.index, found.weights), w)


def test_samples_are_taken_with_their_rows():
    w, z = weights("flat"), torch.randn(A, K, B, 5)
    found = select(w, M, torch.rand(A, B))
    taken = found.take(z)
    for a, m, b in [(0, 0, 0), (1, 2, 1), (0, 1, 2)]:
        assert torch.equal(taken[a, m, b], z[a, found.index[a, m, b], b])
