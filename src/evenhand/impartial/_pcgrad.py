"""Projections onto the normal planes of conflicting gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from ._method import Mixing
from ._random import uniform
from ._solvers import correlation


class PCGrad(Mixing):
    r"""Remove from every gradient what points against another one, one after the other.

    .. math:: \tilde g_t \leftarrow \tilde g_t -
              \frac{\min(0, \langle \tilde g_t, g_s \rangle)}{\|g_s\|^2} g_s
              \quad \text{for all } s \ne t \text{ in random order}

    All gradients meet the others in the same random order, drawn anew in every backward pass: each of
    them has the distribution it has with an order of its own, and T steps do instead of T * T.

    Yu et al., "Gradient Surgery for Multi-Task Learning", NeurIPS 2020.

    Args:
        generator: Where the random orders come from; torch's default generator if None.
    """

    def __init__(self, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.generator = generator

    def mixing(self, gram: Tensor, /) -> Tensor:
        order = uniform(gram.shape[:-1], gram, self.generator).argsort(-1)
        return project(gram, order)


def project(gram: Tensor, order: Tensor) -> Tensor:
    """PCGrad's mixing matrix when all gradients meet the others in one order ``[..., T]``."""
    r = correlation(gram)
    rows = order.unsqueeze(-1).expand_as(r.matrix)
    columns = order.unsqueeze(-2).expand_as(r.matrix)
    fixed = r.matrix.gather(-2, rows).gather(-1, columns)
    others = 1 - torch.eye(order.shape[-1], dtype=fixed.dtype, device=fixed.device)
    products = fixed  # <g~_t, g_s> of unit vectors, for the gradients as projected so far
    removed = []
    for s, (unit, other) in enumerate(zip(fixed.unbind(-2), others.unbind(-1), strict=True)):
        against = products[..., s].clamp(max=0) * other
        products = torch.addcmul(products, against.unsqueeze(-1), unit.unsqueeze(-2), value=-1)
        removed.append(against)
    back = torch.zeros_like(fixed).scatter(-2, rows, torch.stack(removed, -1))
    removed_units = torch.zeros_like(fixed).scatter(-1, columns, back)
    inverse = torch.where(r.active, 1 / r.norms, 0.0)
    scaled = removed_units * r.norms.unsqueeze(-1) * inverse.unsqueeze(-2)
    return (torch.eye(order.shape[-1], dtype=fixed.dtype, device=fixed.device) - scaled).to(gram.dtype)
