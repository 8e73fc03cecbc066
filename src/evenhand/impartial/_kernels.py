"""T x T problems on a GPU, each batch of them in one launch.

Torch would launch dozens of kernels, most of whose time is spent waiting for the next launch. Here a program of a
Triton kernel keeps one problem in its registers and does all the rounds itself. It takes the same steps in the
same double precision as the code it replaces, which still runs wherever `usable` says no.

Nothing is read on the host, so a CUDA graph may capture the launches. As always, call once before the capture: a
kernel is compiled on its first call, and anew only for another `_block` or type of number.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

try:
    import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:
    triton = None

INSTALLED = triton is not None
LARGEST = 64  # heads: the matrix of more of them does not fit in the registers of a program


def usable(tensor: Tensor) -> bool:
    """Whether the kernels can serve a tensor ``[..., T]`` or ``[..., T, T]``."""
    return (
        triton is not None
        and tensor.device.type == "cuda"
        and 0 < tensor.shape[-1] <= LARGEST
        and not torch.compiler.is_compiling()
        and not (tensor.requires_grad and torch.is_grad_enabled())  # a kernel has no derivative
        and _compiles(tensor.device)
    )


@functools.cache
def _compiles(device: torch.device) -> bool:
    """Whether Triton works here: it needs a C compiler, and complains only when it compiles something."""
    try:
        one = torch.ones(1, 1, dtype=torch.float64, device=device)
        solve_least_norm(one, one[0], 0.0)
    except Exception as error:
        warnings.warn(
            f"Triton is installed but cannot compile a kernel for {device}: {error} "
            "The methods give the same results with many small kernels of torch instead, more slowly.",
            stacklevel=2,
        )
        return False
    return True


def pivot(matrix: Tensor, right: Tensor, ridge: float, rounds: int, patience: int) -> tuple[Tensor, Tensor]:
    """`_solvers.pivot` for the complementarity problem R x >= b, from the face b > 0 on.

    Solutions ``[..., T]``, and which of them ``[..., 1]`` are right.
    """
    heads = right.shape[-1]
    matrix, right = matrix.expand(*right.shape, heads), right.contiguous()
    shared = 1  # how many problems in a row have the same matrix; UPGrad's have, and it is not copied
    if right.ndim > 1 and matrix.stride(-3) == 0:
        shared, matrix = right.shape[-2], matrix[..., 0, :, :]
    x = torch.empty_like(right)
    solved = torch.empty_like(right[..., :1], dtype=torch.bool)
    tolerance = 8 * heads * torch.finfo(right.dtype).eps  # as in `_solvers.rounding`
    tensors = matrix.contiguous(), right, x, solved
    _launch(_pivot, right, *tensors, ridge, tolerance, heads, shared, rounds, patience)
    return x, solved


def project(matrix: Tensor, norms: Tensor, inverse: Tensor, order: Tensor, dtype: torch.dtype) -> Tensor:
    """`_pcgrad.project` for correlations R, norms and their inverses: the mixing matrix ``[..., T, T]``."""
    mixing = torch.empty(matrix.shape, dtype=dtype, device=matrix.device)
    tensors = matrix.contiguous(), norms.contiguous(), inverse.contiguous(), order.contiguous()
    _launch(_project, norms, *tensors, mixing, matrix.shape[-1])
    return mixing


def cagrad(gram: Tensor, c: float, ridge: float, quiet: float) -> Tensor:
    """CAGrad's mixing matrix ``[..., T, T]``, all of `_cagrad.CAGrad.mixing`."""
    mixing = torch.empty(gram.shape, dtype=gram.dtype, device=gram.device)
    _launch(_cagrad, gram[..., 0], gram.contiguous(), mixing, ridge, quiet, c, gram.shape[-1])
    return mixing


def solve_least_norm(matrix: Tensor, right: Tensor, damping: float) -> Tensor:
    """Solve (R R + t I) x = R b for symmetric R ``[..., T, T]``, as `_eigen.solve_least_norm` does on a GPU."""
    x = torch.empty(right.shape, dtype=right.dtype, device=right.device)
    _launch(_solve_least_norm, right, matrix.contiguous(), right.contiguous(), x, damping, matrix.shape[-1])
    return x


def _launch(kernel: Any, vectors: Tensor, *arguments: Any, warps: int | None = None) -> None:
    """One program for every one of the vectors ``[..., T]``."""
    heads = vectors.shape[-1]
    block = _block(heads)
    if warps is None:
        warps = 8 if block > 32 else 1  # as few as have enough registers: warps would wait for each other
    with torch.cuda.device_of(vectors):  # Triton launches on the current device, which may be another one
        kernel[(vectors.numel() // heads,)](*arguments, BLOCK=block, num_warps=warps)


def _block(heads: int) -> int:
    """The side of the tile a matrix is padded to: a power of two. Below 16 nothing gets faster."""
    return max(16, 1 << (heads - 1).bit_length())


# The kernels. Names in the plural point to a batch. Padded entries of vectors and matrices are zero, and
# BLOCK is the side of the tile; loops run over the true number of heads.


def _kernel(function: Callable[..., Any]) -> Any:
    """`triton.jit`, if there is one, for a kernel of which one version serves all integers and all memory.

    Otherwise Triton would compile another one when an integer happens to be 1 or 16, or memory is aligned
    differently: in the middle of training, perhaps during the capture of a graph.
    """
    if triton is None:
        return function
    kinds = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    integers = [name for name, kind in kinds.items() if kind == "tl.int32"]
    tensors = [name for name, kind in kinds.items() if kind == "tl.tensor"]
    return triton.jit(do_not_specialize=integers, do_not_specialize_on_alignment=tensors)(function)


@_kernel
def _sweep(matrix: tl.tensor, right: tl.tensor, chosen: tl.tensor) -> tl.tensor:
    """Solve one equation of a symmetric system for its own unknown and put that into the others (Goodnight, 1979).

    After the sweep of some unknowns, right has their values, and elsewhere what is missing with these. Without a
    chosen one nothing changes. Registers have no addresses: a row or an entry is taken out by adding up everything
    with the rest masked. The matrix stays symmetric: row k is column k, too.
    """
    row = tl.sum(tl.where(chosen[:, None], matrix, 0.0), 0)
    diagonal = tl.sum(tl.where(chosen, row, 0.0), 0)
    goal = tl.sum(tl.where(chosen, right, 0.0), 0)
    inverse = tl.where(diagonal == 0, 0.0, 1.0 / tl.where(diagonal == 0, 1.0, diagonal))
    scaled = row * inverse
    matrix = matrix - scaled[:, None] * row[None, :]
    matrix = tl.where(chosen[:, None], scaled[None, :], tl.where(chosen[None, :], scaled[:, None], matrix))
    matrix = tl.where(chosen[:, None] & chosen[None, :], -inverse, matrix)
    return matrix, tl.where(chosen, goal * inverse, right - scaled * goal)


@_kernel
def _solve(matrix: tl.tensor, right: tl.tensor, heads: tl.int32, BLOCK: tl.constexpr) -> tl.tensor:
    """Solve a symmetric positive definite system, for which sweeps are stable without pivoting."""
    index = tl.arange(0, BLOCK)
    for k in range(heads):
        matrix, right = _sweep(matrix, right, index == k)
    return right


@_kernel
def _complement(
    matrix: tl.tensor,
    right: tl.tensor,
    ridge: tl.float64,
    tolerance: tl.float64,
    heads: tl.int32,
    rounds: tl.int32,
    patience: tl.int32,
    BLOCK: tl.constexpr,
) -> tl.tensor:
    """Block principal pivoting, and how many unknowns are on the wrong side at its end; see `_solvers.pivot`."""
    index = tl.arange(0, BLOCK)
    face = right > 0
    found = right
    number = heads  # of unknowns on the wrong side; not known yet, and not 0
    fewest = heads + 1
    left = patience
    done = 0
    while (done < rounds) & (number > 0):
        left_over = matrix + tl.where(index[:, None] == index[None, :], ridge, 0.0)
        x = right  # on the face; elsewhere what is missing, the slack with a minus
        for k in range(heads):
            left_over, x = _sweep(left_over, x, (index == k) & face)
        wrong = tl.where(face, x, -x) < -tolerance * tl.max(tl.abs(x), 0)
        found = tl.where(face, x, 0.0)
        number = tl.sum(wrong.to(tl.int32), 0)
        left = tl.where(number < fewest, patience, left - 1)
        fewest = tl.minimum(number, fewest)
        last = tl.max(tl.where(wrong, index, -1), 0)
        face = face ^ (wrong & ((left >= 0) | (index == last)))
        done += 1
    return tl.where(found < 0, 0.0, found), number  # NaN is not below 0


@_kernel
def _pivot(
    matrices: tl.tensor,
    rights: tl.tensor,
    solutions: tl.tensor,
    solved: tl.tensor,
    ridge: tl.float64,
    tolerance: tl.float64,
    heads: tl.int32,
    shared: tl.int32,
    rounds: tl.int32,
    patience: tl.int32,
    BLOCK: tl.constexpr,
) -> None:
    """`_complement` for every problem of a batch."""
    problem = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, BLOCK)
    real = index < heads
    entries = index[:, None] * heads + index[None, :]
    start = problem // shared * heads * heads
    matrix = tl.load(matrices + start + entries, mask=real[:, None] & real[None, :], other=0.0)
    right = tl.load(rights + problem * heads + index, mask=real, other=0.0)
    x, number = _complement(matrix, right, ridge, tolerance, heads, rounds, patience, BLOCK)
    tl.store(solutions + problem * heads + index, x, mask=real)
    tl.store(solved + problem, number == 0)


@_kernel
def _project(
    matrices: tl.tensor,
    norms: tl.tensor,
    inverses: tl.tensor,
    orders: tl.tensor,
    mixings: tl.tensor,
    heads: tl.int32,
    BLOCK: tl.constexpr,
) -> None:
    """PCGrad's projections; see `_pcgrad.project`. Row i and step s belong to the heads order[i] and order[s]."""
    problem = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, BLOCK)
    real = index < heads
    vector, square = problem * heads, problem * heads * heads
    order = tl.load(orders + vector + index, mask=real, other=0)
    entries = square + order[:, None] * heads + order[None, :]
    products = tl.load(matrices + entries, mask=real[:, None] & real[None, :], other=0.0)
    norm = tl.load(norms + vector + order, mask=real, other=0.0)
    for s in range(heads):
        head = tl.load(orders + vector + s)
        unit = tl.load(matrices + square + head * heads + order, mask=real, other=0.0)
        # <g~_i, g_s> of unit vectors, where negative (or NaN); a gradient is not projected on itself
        product = tl.sum(tl.where(index[None, :] == s, products, 0.0), 1)
        against = tl.where((index == s) | (product >= 0), 0.0, product)
        products = products - against[:, None] * unit[None, :]
        kept = tl.where(index == s, 1.0, 0.0) - against
        kept = kept * norm * tl.load(inverses + vector + head)
        tl.store(mixings + square + order * heads + head, kept, mask=real)


@_kernel
def _correlate(gram: tl.tensor, quiet: tl.float64, BLOCK: tl.constexpr) -> tl.tensor:
    """Correlations, norms, their inverses and which heads are active: `_solvers.correlation`."""
    index = tl.arange(0, BLOCK)
    squares = tl.sum(tl.where(index[:, None] == index[None, :], gram, 0.0), 1)
    active = ~(squares <= quiet * tl.max(squares, 0))  # NaN is not quiet
    squares = tl.where(active, squares, 0.0)
    gram = tl.where(active[:, None] & active[None, :], gram, 0.0)
    root = 1.0 / tl.sqrt(tl.where(active, squares, 1.0))
    return gram * root[:, None] * root[None, :], squares * root, tl.where(active, root, 0.0), active


@_kernel
def _follow(
    matrix: tl.tensor,
    q: tl.tensor,
    a: tl.tensor,
    active: tl.tensor,
    ridge: tl.float64,
    c: tl.float64,
    heads: tl.int32,
    BLOCK: tl.constexpr,
) -> tl.tensor:
    """The solution of CAGrad's problem, face by face; see `_cagrad._follow`."""
    index = tl.arange(0, BLOCK)
    diagonal = index[:, None] == index[None, :]
    start = tl.where(active, q / tl.where(a == 0, 1.0, a), float("inf"))
    face = active & (index == tl.argmin(start, 0))
    moved = face
    v = tl.zeros([BLOCK], tl.float64)
    done = 0
    rounds = 0
    while (rounds < 10 * heads) & (done == 0):
        inside = face.to(tl.float64)
        reduced = matrix * inside[:, None] * inside[None, :]
        reduced += tl.where(diagonal, (1.0 + ridge - inside)[:, None], 0.0)
        u = _solve(reduced, a * inside, heads, BLOCK)
        p = _solve(reduced, q * inside, heads, BLOCK)
        aa, ap, pp = tl.sum(a * u, 0), tl.sum(a * p, 0), tl.sum(q * p, 0)
        square = ap * ap - aa * (pp - c * c)
        end = (ap + tl.sqrt(tl.where(square < 0, 0.0, square))) / tl.where(aa == 0, 1.0, aa)
        ru, rp = tl.sum(matrix * u[None, :], 1), tl.sum(matrix * p[None, :], 1)
        falls = ((face & (u < 0)) | (~face & (ru < a) & active)) & ~moved
        zero = tl.where(face, p, q - rp) / tl.where(falls, tl.where(face, u, a - ru), 1.0)
        events = tl.where(falls, zero, float("inf"))
        first = tl.min(events, 0)
        size = tl.sum(tl.abs(u), 0)
        cancel = aa < 4.0 * ridge * size * size  # gradients on the face cancel: the solution so far stays
        v = tl.where(cancel, v, tl.where(first < end, first, end) * u - p)
        done = (cancel | (end <= first)).to(tl.int32)
        moved = (index == tl.argmin(events, 0)) & (done == 0)
        face = face ^ moved
        rounds += 1
    return v


@_kernel
def _cagrad(
    grams: tl.tensor,
    mixings: tl.tensor,
    ridge: tl.float64,
    quiet: tl.float64,
    c: tl.float64,
    heads: tl.int32,
    BLOCK: tl.constexpr,
) -> None:
    """From a Gram matrix to CAGrad's mixing matrix: `_cagrad._pull` and what it needs."""
    problem = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, BLOCK)
    inside_tile = (index < heads)[:, None] & (index < heads)[None, :]
    entries = problem * heads * heads + index[:, None] * heads + index[None, :]
    diagonal = index[:, None] == index[None, :]
    gram = tl.load(grams + entries, mask=inside_tile, other=0.0).to(tl.float64)
    matrix, norms, inverse, active = _correlate(gram, quiet, BLOCK)
    number = tl.maximum(tl.sum(active.to(tl.float64), 0), 1.0)
    projections = tl.sum(matrix * norms[None, :], 1)
    square = tl.sum(norms * projections, 0)
    length = tl.sqrt(tl.where(square < 0, 0.0, square))
    exists = length > tl.sum(norms, 0) * tl.sqrt(ridge)
    q = projections / tl.where(exists, length, 1.0)
    largest = tl.max(inverse, 0)
    a = inverse / tl.where(largest == 0, 1.0, largest)
    v = _follow(matrix, q, a, active, ridge, c, heads, BLOCK)
    v = tl.where(v < 0, 0.0, v)
    square = tl.sum(v * tl.sum(matrix * v[None, :], 1), 0)
    v = v / tl.where(square > c * c, tl.sqrt(square) / c, 1.0)
    pull = v * tl.where(exists, length, 0.0) / number * inverse
    rows = tl.where(active, 1.0, 0.0)[:, None] * (pull[None, :] + tl.where(diagonal, 1.0, 0.0))
    tl.store(mixings + entries, rows / number, mask=inside_tile)


@_kernel
def _solve_least_norm(
    matrices: tl.tensor,
    rights: tl.tensor,
    solutions: tl.tensor,
    damping: tl.float64,
    heads: tl.int32,
    BLOCK: tl.constexpr,
) -> None:
    """(R R + t I) x = R b, with both sides added up row by row of R."""
    problem = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, BLOCK)
    real = index < heads
    vector, square = problem * heads, problem * heads * heads
    squared = tl.where(index[:, None] == index[None, :], damping, 0.0).to(tl.float64)
    goal = tl.zeros([BLOCK], tl.float64)
    for k in range(heads):
        row = tl.load(matrices + square + k * heads + index, mask=real, other=0.0)
        squared += row[:, None] * row[None, :]
        goal += row * tl.load(rights + vector + k)
    x = _solve(squared, goal, heads, BLOCK)
    tl.store(solutions + vector + index, x, mask=real)
