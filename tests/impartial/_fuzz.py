"""Random blocks, random uses of their views, and what should come of them."""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st

from evenhand.impartial import CATALOGUE, Method

from . import _naive
from ._inputs import generator

SCALES = [name for name, entry in CATALOGUE.items() if entry.kind == "scale"]
OTHERS = [name for name, entry in CATALOGUE.items() if entry.kind in ("direction", "both")]
CHAINS = [(first, second) for first in SCALES for second in OTHERS]
# how long gradients may be, as powers of ten
RANGES = {
    torch.float16: (-2, 2),
    torch.bfloat16: (-30, 30),
    torch.float32: (-30, 30),
    torch.float64: (-60, 60),
    torch.complex64: (-30, 30),
    torch.complex128: (-60, 60),
}
TOLERANCES = {torch.float16: 1e-2, torch.bfloat16: 6e-2, torch.float32: 1e-3, torch.float64: 1e-6}
USES = ("once", "once", "once", "unused", "zero", "twice", "expanded", "transposed", "part", "copied")


@dataclass
class Case:
    """T gradients [T, *shape] in some type, how each view is used to get them, and the block's options."""

    names: tuple[str, ...]
    gradients: torch.Tensor
    uses: list[str]
    preserve_norm: bool

    def method(self) -> Method:
        method = None
        for name in self.names:
            step = CATALOGUE[name].make()
            if step.is_random:
                step.generator = generator()
            method = step if method is None else method >> step
        return method

    @property
    def real(self) -> torch.dtype:
        return self.gradients.dtype.to_real()

    @property
    def fixed(self) -> bool:
        """Whether a second backward pass gives what the first gave."""
        return not any(CATALOGUE[name].class_name in ("GradNorm", "PCGrad", "GradDrop") for name in self.names)


@st.composite
def cases(draw, shape, complex_too=True):
    """Gradients [T, *shape]: heads of different length, some without gradient, all of them very long or short."""
    heads = draw(st.sampled_from([2, 3, 1, 4, 3, 2, 4, 5]))
    dtype = draw(st.sampled_from([d for d in RANGES if complex_too or not d.is_complex]))
    g = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    uses = draw(st.lists(st.sampled_from(USES), min_size=heads, max_size=heads))
    spread = draw(st.sampled_from([0, 1, 2])) if dtype != torch.float16 else 0.5
    wide = torch.complex128 if dtype.is_complex else torch.float64
    rows = torch.randn(heads, *shape, generator=g, dtype=wide)
    lengths = 10 ** (spread * (2 * torch.rand(heads, generator=g, dtype=torch.float64) - 1))
    low, high = RANGES[dtype]
    size = draw(st.sampled_from([0, 0, 0, low, high]) | st.integers(low, high))
    rows = rows * lengths.reshape(-1, *[1] * len(shape)) * 10.0**size
    names = draw(st.sampled_from([*[(name,) for name in CATALOGUE], *CHAINS]))
    return Case(names, rows.to(dtype), uses, draw(st.booleans()))


def pair(use, view, gradient):
    """A number whose gradient at the view is the given one, got in some way; and that gradient as it really is."""
    if use == "unused":
        return None, torch.zeros_like(gradient)
    if use == "zero":
        return dot(view, torch.zeros_like(gradient)), torch.zeros_like(gradient)
    if use == "twice":
        return dot(view, gradient) + dot(view, gradient), gradient + gradient
    if use == "expanded":
        return dot(view.expand(2, *view.shape), gradient.expand(2, *gradient.shape)), gradient + gradient
    if use == "transposed" and view.ndim > 1:
        return dot(view.transpose(0, -1), gradient.transpose(0, -1)), gradient
    if use == "part" and view.ndim and view.shape[-1] > 1:
        cut = gradient.clone()
        cut[..., -1] = 0
        return dot(view[..., :-1], cut[..., :-1]), cut
    if use == "copied":
        copy = view.clone()
        copy.mul_(2)  # in place, on a copy: allowed
        return dot(copy, gradient / 2), gradient / 2 * 2
    return dot(view, gradient), gradient


def dot(view, gradient):
    """The real inner product; torch's gradient of it, for complex numbers too, is the second factor."""
    if view.is_complex():
        view, gradient = torch.view_as_real(view), torch.view_as_real(gradient.resolve_conj())
    # not multiplied: the product of long gradients and their features must not overflow where the gradient does not
    return _Dot.apply(view, gradient)


class _Dot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, view, gradient):
        ctx.save_for_backward(gradient)
        return view.new_zeros(())

    @staticmethod
    def backward(ctx, incoming):
        (gradient,) = ctx.saved_tensors
        return gradient * incoming, None


def problems(case, rows, *, y=None, observed=None):
    """Expected sums [P, B, m] for rows [P, T, B, m], and which problems are clear enough to be compared."""
    totals, sizes, clear = [], [], []
    for p, problem in enumerate(rows):
        mask = None if observed is None else observed[p]
        options = {"y": None if y is None else y[p], "observed": mask, "preserve_norm": case.preserve_norm}
        clear.append(is_clear(case, problem, mask))
        if clear[-1]:
            total, size = _naive.settled(case.names, problem, **options)
        else:
            total, size = torch.zeros_like(problem[0]), torch.tensor(0.0)
        totals.append(total)
        sizes.append(size)
    return totals, sizes, clear


def is_clear(case, problem, observed):
    """Whether rounding cannot decide: gradients far from dependent, and sums that do not nearly cancel."""
    flat = problem.flatten(1)
    gram = flat @ flat.T if observed is None else _naive.common_rows(problem, observed)
    members = [t for t in range(len(gram)) if gram[t, t] > 1e-20 * gram.diagonal().max() and gram[t, t] > 0]
    if observed is not None and len(members) < (flat.norm(dim=1) > 0).sum():
        return False  # a gradient where nothing is observed: whether it is passed on, methods say differently
    norms = gram[members, members].sqrt()
    inner = gram[members][:, members] / norms / norms[:, None]
    limit = 1e2 if case.real != torch.float64 else 1e5
    if len(members) and torch.linalg.cond(inner) > limit:
        return False
    unscaled = gram[members][:, members] / norms.square().max() if len(members) else inner
    if "aligned" in case.names and len(members) and torch.linalg.cond(unscaled) > limit:
        return False
    total = flat.sum(0).norm()
    return not case.preserve_norm or total > 1e-2 * flat.norm() or flat.norm() == 0


def compare(case, found, expected):
    """Found [P, B, m] against what `problems` gives."""
    tolerance = TOLERANCES[case.real]
    assert found.isfinite().all()
    for vector, total, size, clear in zip(found.double(), *expected, strict=True):
        if clear:
            error = (vector - total).norm()
            assert error <= tolerance * max(total.norm(), 1e-2 * size), (case.names, (error / total.norm()).item())
