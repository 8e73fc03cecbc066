"""Numbers cut into pieces: ramps as inputs, categories as outputs, and values to draw from."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenhand.tables.kinds import Pieces
from evenhand.tables.kinds._pieces import MEMBERS, cut


def fitted(*columns, size=8, observed=None):
    """Pieces of columns whose inputs are twice, and whose values a hundred times, what the model computes with."""
    targets = torch.tensor(np.stack(columns, 1), dtype=torch.float32)
    pieces = Pieces(len(columns), size)
    mask = torch.ones_like(targets) if observed is None else observed
    pieces.fit(2 * targets, targets, 100 * targets.double(), mask)
    return pieces, targets


def smooth(n=1000, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def test_pieces_have_about_equally_many_rows():
    pieces, targets = fitted(smooth(), size=8)
    counts = torch.bincount(pieces.codes(targets).flatten())
    assert len(counts) == 8
    assert counts.min() > 100
    assert counts.max() < 150


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=80), st.integers(2, 8))
def test_cuts_are_values_below_the_largest_and_never_too_many(values, number):
    values = np.sort(np.array(values, dtype=float))
    cuts = cut(values, number)
    assert len(cuts) < max(number, 2)
    assert set(cuts) <= set(values)
    assert (np.diff(cuts) > 0).all()
    assert len(np.unique(values)) == 1 or (len(cuts) > 0 and cuts[-1] < values[-1])


def test_every_value_of_a_few_has_its_own_piece():
    values = np.random.default_rng(0).choice([0.0, 1.0, 5.0], size=200)
    pieces, targets = fitted(values)
    assert pieces.codes(targets).unique().tolist() == [0, 1, 2]
    assert pieces.means[0, :3].tolist() == [0.0, 100.0, 500.0]
    assert pieces.unused[0].tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


def test_a_frequent_value_has_its_own_piece():
    values = np.where(np.random.default_rng(0).random(1000) < 0.4, 40.0, 50 * np.random.default_rng(1).random(1000))
    pieces, targets = fitted(values, size=16)
    own = int(pieces.codes(torch.tensor([[40.0]])))
    assert (targets[pieces.codes(targets) == own] == 40).all()
    assert (pieces.members[0, own] == 40).all()


def test_codes_are_those_of_a_search_one_by_one():
    pieces, targets = fitted(smooth(), smooth(seed=1) ** 3, size=8)
    for d in range(2):
        used = int((pieces.unused[d] == 0).sum())
        cuts = pieces.cuts[d, : used - 1].numpy()
        assert pieces.codes(targets)[:, d].tolist() == np.searchsorted(cuts, targets[:, d].numpy()).tolist()


def test_shares_are_frequencies_of_codes():
    observed = (torch.rand(1000, 2, generator=torch.Generator().manual_seed(0)) < 0.8).double()
    pieces, targets = fitted(smooth(), np.round(smooth(seed=1)), size=8, observed=observed)
    shares = pieces.shares(targets, observed)
    for d in range(2):
        codes = pieces.codes(targets)[observed[:, d] > 0, d]
        torch.testing.assert_close(shares[d].double(), torch.bincount(codes, minlength=8).double() / len(codes))


def test_ramps_are_a_piecewise_linear_encoding():
    pieces, targets = fitted(smooth(), size=8)
    sorted_inputs = np.sort(2 * targets[:, 0].numpy())
    edges = np.concatenate([sorted_inputs[:1], 2 * pieces.cuts[0].numpy(), sorted_inputs[-1:]])
    for x in (-9.0, edges[3], 0.1, 0.7, 9.0):
        ramps = pieces.ramps(torch.tensor([[x]], dtype=torch.float32), torch.ones(1, 1))[0]
        expected = np.clip((x - edges[:-1]) / np.diff(edges), 0, 1)
        np.testing.assert_allclose(ramps.numpy(), expected, atol=1e-5)
    assert (pieces.ramps(2 * targets, torch.zeros_like(targets)) == 0).all()


def test_what_is_drawn_follows_the_probabilities_and_stands_in_the_table():
    pieces, targets = fitted(smooth(), np.round(smooth(seed=1)), size=6)
    logits = torch.randn(12, generator=torch.Generator().manual_seed(0)).expand(20_000, 12)
    drawn = pieces.sample(logits, torch.Generator().manual_seed(1))
    assert all(set(drawn[:, d].tolist()) <= set(targets[:, d].tolist()) for d in range(2))
    frequencies = torch.nn.functional.one_hot(pieces.codes(drawn), 6).double().mean(0)
    expected = pieces.log_probabilities(logits[0]).exp().double()
    torch.testing.assert_close(frequencies, expected, atol=0.015, rtol=0)
    assert len(set(drawn[:, 0].tolist())) > 3 * MEMBERS


def test_mean_median_and_mode_in_the_units_of_the_data():
    pieces, _ = fitted(np.repeat([1.0, 2.0, 10.0], 50), size=4)
    logits = torch.tensor([0.3, 0.3, 0.4, 0.0]).log().clamp(min=-50)
    assert float(pieces.mean(logits)) == pytest.approx(100 * (0.3 + 0.6 + 4.0), rel=1e-6)
    assert float(pieces.median(logits)) == 200.0
    assert float(pieces.mode(logits)) == 1000.0


def test_columns_without_values_or_with_one_are_harmless():
    observed = torch.ones(50, 2)
    observed[:, 0] = 0
    pieces, targets = fitted(np.zeros(50), np.full(50, 3.0), observed=observed)
    logits = torch.randn(5, 16)
    assert (pieces.sample(logits) == torch.tensor([0.0, 3.0])).all()
    assert (pieces.mean(logits) == torch.tensor([0.0, 300.0])).all()
    assert pieces.ramps(2 * targets, observed).isfinite().all()
    assert (pieces.standard(100 * targets.double()) == 0).all()


def test_few_rows_make_few_pieces():
    pieces, _ = fitted(smooth(45), size=32)
    assert int((pieces.unused == 0).sum()) <= 4
