"""Errors of cells against brute force, and at the edges."""

import math

import pytest
import torch

from evenhand.tables.inference import column_errors, macro_class_errors, summary, trivial_guess
from evenhand.tables.inference._errors import relative_rmse

from ._tables import SCHEMA, tensors

NUMERIC, NOMINAL = (0, 1), (2, 3)


def cells(truth, guess, scored, d):
    return [(truth[i, d].item(), guess[i, d].item()) for i in range(len(truth)) if scored[i, d]]


def brute_rmse(pairs):
    return math.sqrt(sum((a - b) ** 2 for a, b in pairs) / len(pairs))


def brute_recall_loss(pairs):
    classes = {a for a, _ in pairs}
    recalls = [sum(a == b for a, b in pairs if a == c) / sum(a == c for a, _ in pairs) for c in classes]
    return 1 - sum(recalls) / len(recalls)


def test_errors_equal_brute_force_in_every_replica():
    truth, guess, scored = tensors(40)
    errors = column_errors(truth, guess, scored, SCHEMA)
    relative = relative_rmse(truth, guess, scored, SCHEMA)
    macro = macro_class_errors(truth, guess, scored, SCHEMA)
    assert errors.shape == relative.shape == macro.shape == (2, 4)
    for r in range(2):
        for d in NUMERIC:
            rmse, column = brute_rmse(cells(truth, guess[r], scored, d)), truth[:, d]
            assert errors[r, d].item() == pytest.approx(rmse / (column.max() - column.min()).item())
            assert relative[r, d].item() == pytest.approx(rmse / column.std(correction=0).item())
        for d in NOMINAL:
            pairs = cells(truth, guess[r], scored, d)
            assert errors[r, d].item() == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
            assert macro[r, d].item() == pytest.approx(brute_recall_loss(pairs))
    assert relative[:, NOMINAL].isnan().all()
    assert macro[:, NUMERIC].isnan().all()


def test_given_scales_are_used():
    truth, guess, scored = tensors(40)
    twice = torch.full((4,), 2.0)
    once = torch.ones(4)
    for function, scale in ((column_errors, "ranges"), (relative_rmse, "deviations")):
        a = function(truth, guess, scored, SCHEMA, **{scale: once})[:, NUMERIC]
        b = function(truth, guess, scored, SCHEMA, **{scale: twice})[:, NUMERIC]
        torch.testing.assert_close(a, 2 * b)
    classes = column_errors(truth, guess, scored, SCHEMA, ranges=twice)[:, NOMINAL]
    torch.testing.assert_close(classes, column_errors(truth, guess, scored, SCHEMA)[:, NOMINAL])


def test_a_perfect_guess_has_no_error():
    truth, _, scored = tensors(40)
    assert (column_errors(truth, truth, scored, SCHEMA) == 0).all()
    assert (macro_class_errors(truth, truth, scored, SCHEMA)[list(NOMINAL)] == 0).all()


def test_the_mean_has_a_relative_error_of_one():
    truth, _, _ = tensors(40)
    everything = torch.ones_like(truth, dtype=torch.bool)
    guess = trivial_guess(truth, everything, SCHEMA).expand_as(truth)
    torch.testing.assert_close(relative_rmse(truth, guess, everything, SCHEMA)[:2], torch.ones(2))


def test_only_scored_cells_with_a_truth_count():
    truth, guess, scored = tensors(40)
    expected = column_errors(truth, guess, scored, SCHEMA)
    ranges = truth.amax(0) - truth.amin(0)
    elsewhere = torch.where(scored, guess, torch.nan)
    torch.testing.assert_close(column_errors(truth, elsewhere, scored, SCHEMA), expected)
    holes = torch.where(scored, truth, torch.nan)
    everything = torch.ones_like(scored)
    torch.testing.assert_close(column_errors(holes, guess, everything, SCHEMA, ranges=ranges), expected)
    assert (
        macro_class_errors(holes, guess, everything, SCHEMA)[:, NOMINAL]
        == macro_class_errors(truth, guess, scored, SCHEMA)[:, NOMINAL]
    ).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_guess_that_is_no_number_is_infinitely_wrong(bad):
    truth, guess, _ = tensors(40)
    everything = torch.ones_like(truth, dtype=torch.bool)
    guess = guess.clone()
    guess[0, 3] = bad
    errors = column_errors(truth, guess, everything, SCHEMA)
    assert (errors[0, list(NUMERIC)] == math.inf).all()
    assert (relative_rmse(truth, guess, everything, SCHEMA)[0, list(NUMERIC)] == math.inf).all()
    assert (errors[0, list(NOMINAL)] <= 1).all()
    assert errors[1].isfinite().all()
    assert macro_class_errors(truth, guess, everything, SCHEMA)[:, NOMINAL].isfinite().all()


def test_nothing_scored_is_unknown():
    truth, guess, scored = tensors(40)
    for function in (column_errors, relative_rmse, macro_class_errors):
        assert function(truth, guess, torch.zeros_like(scored), SCHEMA).isnan().all()
        assert function(truth[:0], guess[:, :0], scored[:0], SCHEMA).isnan().all()
    assert trivial_guess(truth, torch.zeros_like(scored), SCHEMA).isnan().all()


def test_one_row_and_constant_columns_have_a_scale_of_one():
    truth = torch.tensor([[1.0, 2.0, 0.0, 2.0]])
    guess = torch.tensor([[1.5, 4.0, 1.0, 2.0]])
    scored = torch.ones_like(truth, dtype=torch.bool)
    assert column_errors(truth, guess, scored, SCHEMA).tolist() == [0.5, 2.0, 1.0, 0.0]
    assert relative_rmse(truth, guess, scored, SCHEMA)[:2].tolist() == [0.5, 2.0]
    assert macro_class_errors(truth, guess, scored, SCHEMA)[2:].tolist() == [1.0, 0.0]


def test_single_class():
    truth, guess = torch.zeros(5, 4), torch.zeros(5, 4)
    guess[:2, 3] = 1.0
    errors = macro_class_errors(truth, guess, torch.ones(5, 4, dtype=torch.bool), SCHEMA)
    assert errors[2:].tolist() == pytest.approx([0.0, 0.4])


def test_trivial_guess():
    nan = torch.nan
    values = torch.tensor([[1.0, 2.0, 1.0, 2.0], [3.0, nan, 1.0, 2.0], [8.0, 5.0, 0.0, 0.0], [9.0, 9.0, 0.0, 0.0]])
    observed = torch.tensor([[True] * 4, [True] * 4, [True] * 4, [False] * 4])
    assert trivial_guess(values, observed, SCHEMA).tolist() == [4.0, 3.5, 1.0, 2.0]
    assert trivial_guess(values, observed.logical_not(), SCHEMA).tolist() == [9.0, 9.0, 0.0, 0.0]


def test_summary():
    errors = torch.tensor([[0.1, 0.3, 0.5, math.nan], [0.1, math.inf, 0.5, 0.7]])
    means = summary(errors, SCHEMA)
    assert list(means) == ["error", "numeric", "nominal", "real", "count", "binary", "categorical"]
    assert means["error"].tolist() == pytest.approx([0.3, math.inf])
    assert means["numeric"].tolist() == pytest.approx([0.2, math.inf])
    assert means["nominal"].tolist() == pytest.approx([0.5, 0.6])
    assert means["categorical"].isnan().tolist() == [True, False]
    assert summary(errors[0], SCHEMA)["binary"].item() == pytest.approx(0.5)


def test_nothing_is_read_on_the_host():
    truth, guess, scored = (tensor.to("meta") for tensor in tensors(40))  # a number of a meta tensor cannot be read
    for function in (column_errors, relative_rmse, macro_class_errors):
        assert summary(function(truth, guess, scored, SCHEMA), SCHEMA)["error"].shape == (2,)
    assert trivial_guess(truth, scored, SCHEMA).shape == (4,)


def test_single_precision_stays():
    truth, guess, scored = tensors(40)
    for function in (column_errors, relative_rmse, macro_class_errors):
        assert function(truth.float(), guess.float(), scored, SCHEMA).dtype == torch.float32


@pytest.mark.parametrize(
    ("truth", "guess", "scored", "message"),
    [
        ((5, 3), (5, 3), (5, 3), r"The table should have the shape \[N, 4\]. Found \[5, 3\]."),
        ((5, 4), (4, 4), (5, 4), r"guess should have the shape \[..., 5, 4\]. Found \[4, 4\]."),
        ((5, 4), (5, 4), (5, 1), r"The mask should be of booleans of the shape \[5, 4\]. Found .* \[5, 1\]."),
    ],
)
def test_wrong_shapes_are_named(truth, guess, scored, message):
    with pytest.raises(ValueError, match=message):
        column_errors(torch.zeros(truth), torch.zeros(guess), torch.ones(scored, dtype=torch.bool), SCHEMA)


def test_wrong_summary_is_named():
    with pytest.raises(ValueError, match=r"errors should have the shape \[..., 4\]. Found \[3\]."):
        summary(torch.zeros(3), SCHEMA)
