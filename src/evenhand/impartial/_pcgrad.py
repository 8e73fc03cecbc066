"""Projections onto the normal planes of conflicting gradients."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from . import _kernels, _settle_kernel
from ._gradients import Gradients
from ._method import Mixing
from ._random import Draws, uniform
from ._settle_kernel import KernelStep
from ._solvers import correlation, host_reads_are_free


class PCGrad(Mixing):
    r"""Remove from every gradient what points against another one, one after the other.

    .. math:: \tilde g_t \leftarrow \tilde g_t -
              \frac{\min(0, \langle \tilde g_t, g_s \rangle)}{\|g_s\|^2} g_s
              \quad \text{for all } s \ne t \text{ in random order}

    All gradients meet the others in the same random order, drawn anew in every backward pass: each of
    them has the distribution it has with an order of its own, and T steps suffice instead of T * T.

    Yu et al., "Gradient Surgery for Multi-Task Learning", NeurIPS 2020.

    Args:
        generator: Where the random orders come from; torch's default generator if None.
    """

    is_random = True

    def __init__(self, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.generator: torch.Generator | Draws | None = generator

    def settle(self, gradients: Gradients, /) -> Gradients:
        return gradients.mix(self.mixing(gradients.gram(), together=gradients.together))

    def kernel_step(self, like: Tensor, /) -> KernelStep | None:
        # the kernel takes the numbers that were drawn for all replicas of a stack
        return KernelStep(_settle_kernel.PCGRAD) if isinstance(self.generator, Draws) else None

    def mixing(self, gram: Tensor, /, *, together: bool = False) -> Tensor:
        order = uniform(gram.shape[:-1], gram, self.generator, together=together).argsort(-1)
        return project(gram, order)


def project(gram: Tensor, order: Tensor) -> Tensor:
    """PCGrad's mixing matrix when all gradients meet the others in one order ``[..., T]``."""
    r = correlation(gram)
    if _kernels.usable(r.matrix):
        return _kernels.project(r.matrix, r.norms, r.inverse, order, gram.dtype)
    if order.ndim == 1 and host_reads_are_free(order):
        removed = _removed(r.matrix, order.tolist())
    else:  # each problem has its order, so heads are shuffled instead
        shuffled = _removed(_reorder(r.matrix, order), range(order.shape[-1]))
        removed = _reorder(shuffled, order.argsort(-1))
    mixing = r.norms.unsqueeze(-1) * -r.inverse.unsqueeze(-2) * removed
    mixing.diagonal(dim1=-2, dim2=-1).add_(r.active)
    return mixing.to(gram.dtype)


def _removed(correlations: Tensor, order: Sequence[int]) -> Tensor:
    """How much of each unit vector g_s is taken away from g_t, ``[..., T, T]`` and times -1."""
    products = correlations.clone()
    # A gradient is not projected on itself: an infinite own product is never negative.
    products.diagonal(dim1=-2, dim2=-1).fill_(torch.inf)
    units = correlations.unsqueeze(-2).unbind(-3)
    removed = list(units)
    for s in order:
        against = products[..., s : s + 1].clamp(max=0)  # <g~_t, g_s> of unit vectors, where negative
        products = torch.addcmul(products, against, units[s], value=-1)
        removed[s] = against
    return torch.cat(removed, -1)


def _reorder(matrix: Tensor, order: Tensor) -> Tensor:
    """The rows and columns of ``[..., T, T]`` in another order ``[..., T]``."""
    rows, columns = order.unsqueeze(-1).expand_as(matrix), order.unsqueeze(-2).expand_as(matrix)
    return matrix.gather(-2, rows).gather(-1, columns)
