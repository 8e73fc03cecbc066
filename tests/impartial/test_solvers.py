"""The solvers underneath the methods, also as they run where host reads are not free."""

import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from evenhand.impartial import (
    IMTLG,
    MGDA,
    Block,
    CAGrad,
    UPGrad,
    _eigen,
    _solvers,
)

from ._asserts import assert_close
from ._inputs import FIXED, METHODS, full_rank, gradients


@pytest.fixture
def _no_host_reads(monkeypatch):
    """As on a GPU: loops of fixed length, and no LAPACK."""
    set_host_reads(monkeypatch, False)


def set_host_reads(monkeypatch, free):
    """Whether reading a number is free, for all modules that ask."""
    for name, module in list(sys.modules.items()):
        if name.startswith("evenhand.impartial.") and hasattr(module, "host_reads_are_free"):
            monkeypatch.setattr(module, "host_reads_are_free", lambda _: free)


@pytest.mark.parametrize("size", range(1, 10))
def test_jacobi_finds_eigenvalues(size):
    matrix = torch.randn(4, size, size)
    matrix = matrix @ matrix.mT
    values, vectors = _eigen.jacobi(matrix)
    assert_close(values.sort(-1).values, torch.linalg.eigvalsh(matrix), 1e-10)
    assert_close(vectors @ torch.diag_embed(values) @ vectors.mT, matrix, 1e-10)
    assert_close(vectors.mT @ vectors, torch.eye(size).expand_as(matrix), 1e-10)


def test_jacobi_of_a_large_or_singular_matrix():
    rows = torch.randn(2, 40, 10)
    matrix = rows @ rows.mT
    values, vectors = _eigen.jacobi(matrix)
    assert_close(vectors @ torch.diag_embed(values) @ vectors.mT, matrix, 1e-9)


@pytest.mark.parametrize("size", range(1, 9))
def test_everyone_meets_everyone_once(size):
    rounds = _eigen._tournament(size, torch.device("cpu"))
    met = [tuple(sorted(pair)) for p, q in rounds for pair in zip(p.tolist(), q.tolist(), strict=True)]
    assert sorted(met) == [(a, b) for a in range(size) for b in range(a + 1, size)]
    for p, q in rounds:
        assert len({*p.tolist(), *q.tolist()}) == 2 * len(p)


def test_nearest_positive():
    matrix = torch.diag(torch.tensor([2.0, -1, 3]))
    assert_close(_eigen.nearest_positive(matrix), torch.diag(torch.tensor([2.0, 0, 3])))


@given(rows=gradients(heads=st.integers(2, 8)))
def test_complementarity_equals_nonnegative_least_squares(rows):
    """min |J'x - v|^2 over x >= 0 is the problem for R = JJ', b = Jv."""
    rows = rows[rows.norm(dim=-1) > 0]
    if not len(rows):
        return
    rows = rows / rows.norm(dim=-1, keepdim=True)
    goal = torch.randn(rows.shape[1])
    found = _solvers.solve_complementarity(rows @ rows.T, rows @ goal, 1e-14)
    expected, _ = nnls(rows.T.numpy(), goal.numpy())
    assert (found >= 0).all()
    assert (found @ rows - torch.as_tensor(expected) @ rows).norm() <= 1e-6 * goal.norm()


@pytest.mark.usefixtures("_no_host_reads")
@pytest.mark.parametrize("method", [*(METHODS[name]() for name in sorted(FIXED)), CAGrad(0.1), CAGrad(5.0)], ids=repr)
def test_fixed_rounds_give_the_same(method):
    rows = torch.randn(200, 12, 20) * 10 ** (torch.rand(200, 12, 1) * 4 - 2)
    blind = method(rows)
    with pytest.MonkeyPatch.context() as patch:
        set_host_reads(patch, True)
        assert_close(blind, method(rows), 1e-6)


@pytest.mark.usefixtures("_no_host_reads")
@pytest.mark.parametrize(("heads", "features"), [(10, 6), (20, 11), (12, 1)])
def test_fixed_rounds_solve_dependent_gradients(heads, features):
    rows = torch.randn(100, heads, features)
    norms = rows.norm(dim=-1)
    products = UPGrad()(rows) @ rows.mT / norms.unsqueeze(-1) / norms.unsqueeze(-2)
    assert products.min() > -1e-6
    shortest = MGDA()(rows).sum(-2)
    advantage = (rows @ shortest.unsqueeze(-1)).squeeze(-1) - shortest.square().sum(-1, keepdim=True)
    assert (advantage / norms.amin(-1, keepdim=True)).min() > -1e-6


def test_one_hard_problem_in_a_batch():
    rows = torch.randn(64, 20, 40)
    rows[7] = torch.randn(20, 11) @ torch.randn(11, 40)
    result = UPGrad()(rows)
    for i in (0, 7, 63):
        assert_close(result[i], UPGrad()(rows[i]), 1e-6)


@pytest.mark.usefixtures("_no_host_reads")
@pytest.mark.parametrize("name", sorted(FIXED))
@pytest.mark.parametrize("case", ["zero", "one", "duplicates", "opposite", "narrow"])
def test_fixed_rounds_are_finite_for_hard_cases(name, case):
    rows = torch.randn(3, 5, 8)
    if case == "zero":
        rows[:] = 0
    elif case == "one":
        rows = rows[:, :1]
    elif case == "duplicates":
        rows[:, 1] = rows[:, 0]
    elif case == "opposite":
        rows[:, 1] = -rows[:, 0]
    else:
        rows = rows[:, :, :2]
    assert METHODS[name]()(rows).isfinite().all()


@given(rows=full_rank())
def test_correlations_undo_the_norms(rows):
    gram = rows @ rows.T
    r = _solvers.correlation(gram)
    assert_close(r.matrix * r.norms.unsqueeze(-1) * r.norms, gram)
    assert_close(r.matrix.diagonal(), torch.ones(len(rows)))
    assert_close(r.norms * r.inverse, torch.ones(len(rows)))


@pytest.mark.parametrize("quiet", [0.0, 1e-150, 1e-40, 1e-26])
@pytest.mark.parametrize("method", [MGDA(), IMTLG(), CAGrad(10.0), UPGrad()], ids=lambda m: type(m).__name__)
def test_heads_that_are_nearly_silent_take_no_part(method, quiet):
    """Norm restoration would otherwise blow up what has underflowed."""
    rows = torch.randn(3, 8)
    rows[1] *= quiet
    y = torch.randn(1, 8, requires_grad=True)
    block = Block(method)
    sum((view * row).sum() for view, row in zip(block(y, 3), rows, strict=True)).backward()
    others = torch.randn(1, 8, requires_grad=True)
    alone = Block(method)
    sum((view * row).sum() for view, row in zip(alone(others, 2), rows[[0, 2]], strict=True)).backward()
    torch.testing.assert_close(y.grad, others.grad)
    assert block.last.weights.abs().max() < 1e3
