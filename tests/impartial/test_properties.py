"""What holds for every method, on easy gradients and on hard ones."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenhand.impartial import CAGrad

from ._asserts import assert_close, assert_same_direction
from ._inputs import FIXED, GRAM, HARD, METHODS, RANDOM, SCALE_FREE, full_rank, gradients

every_method = pytest.mark.parametrize("name", METHODS)


@every_method
@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_finite_and_of_the_same_shape(name, case, dtype):
    rows = HARD[case].to(dtype)
    result = METHODS[name]()(rows)
    assert result.shape == rows.shape
    assert result.dtype == dtype
    assert result.isfinite().all()


@every_method
@given(rows=gradients())
def test_finite_for_gradients_of_every_kind(name, rows):
    assert METHODS[name]()(rows).isfinite().all()


@every_method
@given(rows=gradients(), power=st.sampled_from([-30, -3, 16]))
def test_an_amp_loss_scale_goes_through(name, rows, power):
    """AMP scales by powers of two, so not even rounding changes."""
    assert_close(METHODS[name]()(rows * 2.0**power), METHODS[name]()(rows) * 2.0**power, 1e-12)


@every_method
@given(rows=full_rank(), power=st.sampled_from([-10, 10]))
def test_a_common_scale_goes_through(name, rows, power):
    assert_close(METHODS[name]()(rows * 10.0**power), METHODS[name]()(rows) * 10.0**power, 1e-9)


@pytest.mark.parametrize("name", sorted(SCALE_FREE))
@given(rows=full_rank(), powers=st.lists(st.floats(-10, 10), min_size=8, max_size=8))
def test_the_scale_of_a_head_leaves_the_mixing_of_directions_as_it_is(name, rows, powers):
    """g~_t of a scaled g_t is scaled in the same way, or the direction of the sum is the same."""
    scales = 10 ** torch.tensor(powers[: len(rows)]).unsqueeze(-1)
    before, after = METHODS[name]()(rows), METHODS[name]()(rows * scales)
    if name in ("upgrad", "pcgrad"):
        assert_close(after / scales, before, 1e-6)
    else:
        assert_same_direction(after.sum(0) * before.sum(0).dot(after.sum(0)).sign(), before.sum(0), 1e-5)


@pytest.mark.parametrize("name", sorted(set(METHODS) - RANDOM))
@given(rows=full_rank(), seed=st.integers(0, 100))
def test_the_order_of_heads_does_not_matter(name, rows, seed):
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    assert_close(METHODS[name]()(rows[order]), METHODS[name]()(rows)[order], 1e-7)


@pytest.mark.parametrize("name", sorted(n for n in set(METHODS) - RANDOM if "gradnorm" not in n))
@given(rows=full_rank())
def test_leading_axes_are_independent_problems(name, rows):
    other = torch.randn_like(rows)
    batch = torch.stack([rows, other, rows * 3]).unsqueeze(1)
    result = METHODS[name]()(batch)
    for found, expected in zip(result[:, 0], (rows, other, rows * 3), strict=True):
        assert_close(found, METHODS[name]()(expected), 1e-7)


@pytest.mark.parametrize("name", sorted(n for n in METHODS if "gradnorm" not in n))
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_broken_problem_does_not_spoil_the_others(name, bad):
    """One replica that diverged, one row with a NaN."""
    rows = torch.randn(4, 3, 6)
    rows[2, 0, 0] = bad
    assert METHODS[name]()(rows)[[0, 1, 3]].isfinite().all()


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"cagrad-0.4", "cagrad-10"}))
def test_one_head_is_left_alone(name):
    row = torch.tensor([[1.0, -2, 3]])
    assert_close(METHODS[name]()(row), row)


def test_one_head_of_cagrad_is_only_scaled():
    row = torch.tensor([[1.0, -2, 3]])
    assert_close(CAGrad(0.5)(row), 1.5 * row)  # the best direction in a ball around it


@pytest.mark.parametrize("name", sorted(FIXED))
@given(rows=full_rank(heads=st.integers(2, 5)), where=st.integers(0, 5))
def test_a_head_without_gradient_is_left_out(name, rows, where):
    """A missing modality must not stop the others."""
    method = METHODS[name]()
    where = min(where, len(rows))
    zero = torch.zeros_like(rows[:1])
    result = method(torch.cat([rows[:where], zero, rows[where:]]))
    assert result[where].norm() <= 1e-12 * rows.norm()
    assert_close(torch.cat([result[:where], result[where + 1 :]]), method(rows), 1e-7)


@every_method
def test_orthogonal_heads_of_equal_length_do_not_conflict(name):
    """Nothing to settle: all directions are kept."""
    rows = 3 * torch.eye(4)
    total = METHODS[name]()(rows).sum(0)
    if "graddrop" in name and "leak" not in name:
        assert ((total > 0) | (total == 0)).all()
    else:
        assert_same_direction(total, rows.sum(0))


@pytest.mark.parametrize("name", ["sum", "pcgrad", "upgrad", "graddrop"])
def test_methods_that_only_remove_conflict_do_nothing_without_it(name):
    rows = torch.tensor([[1.0, 2, 0], [2, 1, 1], [1, 1, 3]])
    assert_close(METHODS[name]()(rows), rows)


@pytest.mark.parametrize("name", sorted(GRAM))
@given(rows=full_rank())
def test_single_precision_agrees_with_double(name, rows):
    assert_close(METHODS[name]()(rows.float()), METHODS[name]()(rows), 2e-3 if name == "aligned" else 2e-4)


@every_method
def test_errors_name_the_shape(name):
    with pytest.raises(ValueError, match=r"gradients should be a tensor \[..., T, n\].*Found shape \(4,\)"):
        METHODS[name]()(torch.ones(4))


@every_method
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_nan_and_infinity_are_not_hidden(name, bad):
    rows = torch.randn(3, 5)
    rows[1, 2] = bad
    assert not METHODS[name]()(rows).sum(0).isfinite().all()
