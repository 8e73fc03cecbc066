"""TorchJD as an independent reference, where both exist and it is exact."""

import pytest
import torch
import torchjd.aggregation as jd
from hypothesis import given
from hypothesis import strategies as st

from evenhand.impartial import IMTLG, MGDA, AlignedMTL, Block, CAGrad, FairGrad, FromTorchJD, GradDrop, UPGrad
from evenhand.impartial._pcgrad import project

from ._asserts import assert_close, assert_same_direction
from ._inputs import full_rank


def ones(rows):
    return torch.ones(len(rows))


@given(rows=full_rank())
def test_imtlg(rows):
    reference = jd.IMTLG()(rows)
    sign = (rows @ reference).sign()  # all the same; where negative, the published formula is an ascent
    assert_close(IMTLG()(rows).sum(0), reference * sign[0], 1e-6)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@given(rows=full_rank(heads=st.integers(2, 5)))
def test_fairgrad(alpha, rows):
    rows = rows / rows.norm(dim=-1, keepdim=True)  # with other norms its least squares may stop early
    assert_same_direction(FairGrad(alpha)(rows).sum(0), jd.FairGrad(alpha)(rows), 1e-3)


@given(rows=full_rank())
def test_aligned(rows):
    assert_close(AlignedMTL()(rows).sum(0), jd.AlignedMTL(pref_vector=ones(rows))(rows), 1e-6)


@given(rows=full_rank())
def test_upgrad(rows):
    from torchjd.linalg import QuadprogProjector

    reference = jd.UPGrad(pref_vector=ones(rows), projector=QuadprogProjector(norm_eps=1e-30, reg_eps=0.0))
    assert_close(UPGrad()(rows).sum(0), reference(rows), 1e-6)


@pytest.mark.parametrize("c", [0.2, 0.5, 0.9])
@given(rows=full_rank())
def test_cagrad(c, rows):
    rows = rows / rows.norm()
    assert_close(CAGrad(c)(rows).sum(0), jd.CAGrad(c)(rows), 1e-3)


@given(rows=full_rank())
def test_mgda_where_it_has_converged(rows):
    rows = rows / rows.norm(dim=-1, keepdim=True)  # with other norms it has not, after 20000 rounds
    reference = jd.MGDA(epsilon=1e-9, max_iters=20000)(rows)
    found = MGDA()(rows).sum(0)
    assert found.norm() <= reference.norm() * (1 + 1e-9)
    assert_close(found, reference, 2e-2)


@given(rows=full_rank())
def test_pcgrad_with_the_same_order(rows):
    gram = rows @ rows.T
    order = torch.randperm(len(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "randperm", lambda n, **_: order)
        reference = jd.PCGrad()(rows)
    assert_close(project(gram, order).sum(0) @ rows, reference, 1e-6)


@given(rows=full_rank())
def test_graddrop_with_the_same_random_numbers(rows):
    numbers = torch.rand(rows.shape[-1], dtype=torch.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "rand", lambda *_, **__: numbers.double())
        reference = jd.GradDrop()(rows)
        found = GradDrop()(rows).sum(0)
    assert_close(found, reference, 1e-6)


def test_a_weighting_of_torchjd_in_a_block():
    y = torch.randn(5, 3, requires_grad=True)
    rows = torch.randn(4, 5, 3)
    block = Block(FromTorchJD(jd.UPGradWeighting(pref_vector=torch.ones(4))), preserve_norm=False)
    sum((r * v).sum() for r, v in zip(rows, block(y, 4), strict=True)).backward()
    assert_close(y.grad.flatten(), UPGrad()(rows.flatten(1)).sum(0), 1e-3)


def test_a_weighting_of_torchjd_on_a_batch():
    rows = torch.randn(2, 3, 4, 6)
    method = FromTorchJD(jd.IMTLGWeighting())
    assert_close(method(rows), IMTLG()(rows), 1e-6)
