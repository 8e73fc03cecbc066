"""The kernels give what torch gives, on a CUDA device or interpreted."""

import copy

import pytest
import torch

from evenhand.impartial import (
    IMTLG,
    MGDA,
    CAGrad,
    PCGrad,
    UPGrad,
    _eigen,
    _kernels,
    _pcgrad,
    _range,
    _range_kernel,
    _solvers,
)

from ._asserts import assert_close
from ._inputs import HARD, generator
from ._models import MultiHead, gradient_of
from ._on_a_gpu import DEVICE, INTERPRETED, MARKS, pretend, torch_only

pytestmark = MARKS
# The interpreter takes seconds where a GPU takes microseconds; `test_a_larger_tile` is its one large problem.
SIZES = [2, 5] if INTERPRETED else [2, 3, 5, 12, 16, 21, 43]


@pytest.fixture(autouse=True)
def _as_on_a_gpu(monkeypatch):
    pretend(monkeypatch)


def grams(kind, size, batch=3):
    """Gram matrices ``[batch, T, T]``."""
    rows = torch.randn(batch, size, 3 * size)
    if kind == "norms":
        rows *= 10 ** (torch.rand(batch, size, 1) * 6 - 3)
    elif kind == "nearly parallel":
        rows = torch.randn(batch, 1, 3 * size) + 1e-3 * rows
    elif kind == "narrow":
        rows = rows[..., : max(1, size // 2)]
    elif kind == "zero head":
        rows[:, 0] = 0
        rows[0] = 0
    elif kind == "duplicate":
        rows[:, -1] = rows[:, 0]
    return (rows @ rows.mT).to(DEVICE)


REGULAR = ["random", "norms", "zero head"]
SINGULAR = ["nearly parallel", "narrow", "duplicate"]


def problem(gram):
    """MGDA's complementarity problem."""
    r = _solvers.correlation(gram)
    return r, r.relative_inverse()


def both_pivots(matrix, right, ridge):
    def on_face(face):
        x = _solvers.solve_on_face(matrix, right.unsqueeze(-1), face, ridge).squeeze(-1)
        return x, _solvers.times(matrix, x) - right

    found = _kernels.pivot(matrix, right, ridge, _solvers.PIVOTS, _solvers.PATIENCE)
    return found, _solvers.pivot(right > 0, on_face)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", REGULAR)
def test_pivot(size, kind):
    r, right = problem(grams(kind, size))
    (x, solved), (expected, expected_solved) = both_pivots(r.matrix, right, r.ridge)
    assert_close(x, expected, 1e-10)
    assert solved.dtype == torch.bool
    assert torch.equal(solved, expected_solved)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", SINGULAR)
def test_pivot_on_singular_problems(size, kind):
    """Single precision, whose ridge keeps the solution unique in spite of rounding."""
    r, right = problem(grams(kind, size).float())
    (x, solved), (expected, expected_solved) = both_pivots(r.matrix, right, r.ridge)
    assert torch.equal(solved, expected_solved)
    rows = solved.squeeze(-1)
    assert_close(x[rows], expected[rows], 1e-6)
    assert (x >= 0).all()


def test_pivot_stops_at_its_bound():
    r, right = problem(grams("norms", 12, batch=8))
    _, solved = _kernels.pivot(r.matrix, right, r.ridge, 1, 3)
    assert not solved.all()
    _, solved = _kernels.pivot(r.matrix, right, r.ridge, _solvers.PIVOTS, 3)
    assert solved.all()


@pytest.mark.parametrize("lead", [(), (2,), (2, 2)])
def test_problems_that_share_a_matrix(lead):
    """As in UPGrad, where the matrix is one for T problems and is not copied."""
    r = _solvers.correlation(grams("random", 5, batch=4)[: max(1, 2 ** len(lead))].reshape(*lead, 5, 5))
    matrix = r.matrix.unsqueeze(-3).expand(*lead, 5, 5, 5)
    (x, _), (expected, _) = both_pivots(matrix, -r.matrix, r.ridge)
    assert_close(x, expected, 1e-10)


def test_strides_do_not_matter():
    gram = grams("random", 5, batch=6)
    swapped = gram.reshape(2, 3, 5, 5).transpose(0, 1).contiguous().transpose(0, 1)
    order = torch.rand(6, 5, device=DEVICE).argsort(-1)
    for call in (MGDA().weights, IMTLG().weights):
        assert_close(call(swapped), call(gram).reshape(2, 3, 5), 1e-10)
    found = _pcgrad.project(swapped, order.reshape(2, 3, 5))
    assert_close(found, _pcgrad.project(gram, order).reshape(2, 3, 5, 5), 1e-10)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", REGULAR + SINGULAR)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_project(size, kind, dtype):
    gram = grams(kind, size).to(dtype)
    order = torch.rand(gram.shape[:-1], device=DEVICE).argsort(-1)
    found = _pcgrad.project(gram, order)
    assert found.dtype == dtype
    assert_close(found, torch_only(lambda: _pcgrad.project(gram, order)), 1e-6 if dtype == torch.float32 else 1e-10)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", REGULAR)
def test_least_norm(size, kind):
    r = _solvers.correlation(grams(kind, size))
    found = _eigen.solve_least_norm(r.matrix, r.active, r.ridge)
    assert_close(found, torch_only(lambda: _eigen.solve_least_norm(r.matrix, r.active, r.ridge)), 1e-10)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", SINGULAR)
def test_least_norm_of_singular_problems(size, kind):
    """Weights may differ by what rounding does to both; the projections, which they are for, may not."""
    r = _solvers.correlation(grams(kind, size).float())
    found = _eigen.solve_least_norm(r.matrix, r.active, r.ridge)
    expected = torch_only(lambda: _eigen.solve_least_norm(r.matrix, r.active, r.ridge))
    assert_close(_solvers.times(r.matrix, found), _solvers.times(r.matrix, expected), 1e-5)
    assert_close(found, expected, 2e-2)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", REGULAR + SINGULAR)
@pytest.mark.parametrize("c", [0.1, 0.4, 10.0])
def test_cagrad(size, kind, c):
    """The sum is what counts: of dependent gradients many weights give the same one."""
    gram = grams(kind, size)
    found, expected = CAGrad(c).mixing(gram).sum(-2), torch_only(lambda: CAGrad(c).mixing(gram)).sum(-2)
    difference = _solvers.times(gram, found) - _solvers.times(gram, expected)
    assert difference.norm() <= 1e-6 * gram.norm()  # gradients that cancel leave rounding errors, and nothing else


LARGER = {
    "pivot": MGDA().weights,
    "project": lambda gram: _pcgrad.project(gram, torch.arange(17, device=DEVICE).flip(0).expand(1, 17)),
    "cagrad": CAGrad(0.4).mixing,
    "least norm": IMTLG().weights,
    "narrow": lambda gram: _range.narrow(gram.double() * 1e60, torch.float32)[0],
}


@pytest.mark.parametrize("kernel", LARGER)
def test_a_larger_tile(kernel):
    """One head more than the smallest tile holds."""
    gram = grams("random", 17, batch=1)
    assert _kernels._block(17) == 32
    assert_close(LARGER[kernel](gram), torch_only(lambda: LARGER[kernel](gram)), 1e-8)


def test_every_kernel_is_among_them(monkeypatch):
    launch, launched = _kernels._launch, set()
    monkeypatch.setattr(_kernels, "_launch", lambda kernel, *args: launched.add(kernel) or launch(kernel, *args))
    for call in LARGER.values():
        call(grams("random", 17, batch=1))
    everything = [*vars(_kernels).values(), *vars(_range_kernel).values()]
    kernels = {kernel for kernel in everything if isinstance(kernel, type(_kernels._pivot))}
    assert launched == kernels - {
        _kernels._solve,
        _kernels._correlate,
        _kernels._follow,
        _kernels._complement,
        _kernels._sweep,
    }  # which others call


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", [1e-60, 1e-30, 1.0, 1e30, 1e60])
def test_narrow(size, scale):
    """Squares that float32 cannot hold get a scale, the same one as without a kernel."""
    gram = grams("norms", size).double() * scale
    gram[1, 0] = gram[1, :, 0] = 0
    gram[2, -1, -1] = torch.nan
    (found, scales), (expected, expected_scales) = (
        narrow() if kernel else torch_only(narrow)
        for kernel in (True, False)
        for narrow in [lambda: _range.narrow(gram, torch.float32)]
    )
    assert torch.equal(scales, expected_scales)
    assert (scales == 1).all() == (scale == 1)
    assert found.dtype == torch.float32
    assert torch.equal(found.nan_to_num(-1), expected.nan_to_num(-1))


@pytest.mark.parametrize("method", [MGDA(), CAGrad(0.4)], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("size", [1e-24, 1e20])
def test_lengths_whose_squares_do_not_fit(method, size):
    rows = torch.randn(3, 4, 8, device=DEVICE).float()
    power = 2.0 ** round(torch.tensor(size).log2().item())
    assert_close(method(rows * power).double() / power, method(rows), 1e-5)


METHODS = [MGDA(), UPGrad(), IMTLG(), CAGrad(0.4), PCGrad(generator=generator())]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("case", HARD)
def test_methods_on_hard_cases(method, case):
    rows = HARD[case].float().to(DEVICE)

    def settled():
        if isinstance(method, PCGrad):
            method.generator.manual_seed(3)
        return method(rows)

    found, expected = settled(), torch_only(settled)
    assert found.isfinite().all()
    # IMTL-G's weights are those of a squared matrix: of dependent gradients neither side knows them better
    tolerance = 2e-3 if isinstance(method, IMTLG) else 1e-6
    assert (found - expected).norm() <= tolerance * rows.norm()


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_nan_stays_in_its_problem(method):
    rows = torch.randn(3, 4, 8, device=DEVICE)
    rows[1, 2, 0] = torch.nan
    result = method(rows)
    assert result[0].isfinite().all()
    assert result[2].isfinite().all()
    assert result[1].sum(0).isnan().any()


def test_more_heads_than_a_kernel_takes(monkeypatch):
    monkeypatch.setattr(_kernels, "_launch", lambda *_: pytest.fail("a kernel was launched"))
    rows = torch.randn(_kernels.LARGEST + 1, 80, device=DEVICE)
    assert IMTLG()(rows).isfinite().all()


@pytest.mark.filterwarnings("ignore")  # what torch says while it compiles is not ours
def test_in_a_compiled_block():
    """Through the operator that a compiled graph calls."""
    torch._dynamo.reset()
    model, x = MultiHead(MGDA()).to(DEVICE), torch.randn(6, 5, device=DEVICE)
    expected = torch_only(lambda: gradient_of(copy.deepcopy(model), x))
    launched = []
    with pytest.MonkeyPatch.context() as patch:
        pivot = _kernels.pivot
        patch.setattr(_kernels, "pivot", lambda *args: launched.append(args) or pivot(*args))
        model.zero_grad()
        torch.compile(model, fullgraph=True, backend="aot_eager")(x).backward()
    found = torch.cat([p.grad.flatten() for p in model.encoder.parameters()])
    assert launched
    assert_close(found, expected, 1e-9)


class TestUsable:
    """Where kernels are used on their own."""

    @pytest.fixture(autouse=True)
    def _as_it_is(self, _as_on_a_gpu, monkeypatch):
        monkeypatch.undo()

    def test_not_on_the_cpu(self):
        assert not _kernels.usable(torch.eye(3))

    @pytest.mark.skipif(DEVICE == "cpu", reason="no CUDA device")
    def test_on_a_gpu(self):
        assert _kernels.usable(torch.eye(3, device="cuda"))
        assert _kernels.usable(torch.eye(_kernels.LARGEST, device="cuda"))
        assert not _kernels.usable(torch.eye(_kernels.LARGEST + 1, device="cuda"))
        assert not _kernels.usable(torch.eye(3, device="cuda", requires_grad=True))

    @pytest.mark.skipif(DEVICE == "cpu", reason="no CUDA device")
    @pytest.mark.parametrize("size", [12, 43])
    def test_in_a_graph(self, size):
        gram = grams("norms", size)
        order = torch.rand(gram.shape[:-1], device=DEVICE).argsort(-1)

        def solve():
            return MGDA().weights(gram), UPGrad().mixing(gram), IMTLG().weights(gram), _pcgrad.project(gram, order)

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            solve()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = solve()
        gram.copy_(grams("random", size))
        graph.replay()
        for captured, eager in zip(found, solve(), strict=True):
            assert torch.equal(captured, eager)


def test_triton_that_cannot_compile(monkeypatch):
    def no_compiler(*_):
        raise RuntimeError("Failed to find C compiler.")

    monkeypatch.setattr(_kernels, "_launch", no_compiler)
    _kernels._compiles.cache_clear()
    with pytest.warns(UserWarning, match="Failed to find C compiler"):
        assert not _kernels._compiles(torch.device(DEVICE))
    _kernels._compiles.cache_clear()
