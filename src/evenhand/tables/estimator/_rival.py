"""The simple rival of every guess: ridge regression of a column on all others."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kinds import TableLikelihood
from ..stack import Rows

ROWS = 10_000  # to fit on
STRENGTH = 1.0  # of the penalty, in rows


@torch.no_grad()
def ridge_guess(
    likelihood: TableLikelihood, rows: Rows, train: Tensor, index: Tensor, visible: Tensor | None
) -> Tensor:
    """What ridge regression on the visible cells of the other columns makes of every cell, ``[n, D]``.

    All columns share one inverse: leaving a column's own inputs out is a correction of low rank.

    Args:
        likelihood: Knows the columns.
        rows: The table.
        train: Rows to fit on.
        index: Rows to guess, ``[n]``.
        visible: Which of their cells may be seen, ``[n, D]`` in inner order; all observed ones if None.
    """
    inputs, targets, mask = (t.double() for t in rows.split(rows.record[train[:ROWS]]))
    x = torch.cat([rows.seen(inputs, mask), torch.ones_like(mask[:, :1])], -1)  # the last one is the intercept
    wanted = _wanted(likelihood, targets)
    owner = torch.tensor(likelihood.owners_of_targets, device=x.device)
    seen = mask[:, owner]
    share = seen.mean(0).clamp(min=1e-9)
    centre = (wanted * seen).sum(0) / seen.sum(0).clamp(min=1)
    inverse = torch.linalg.inv(x.mT @ x + STRENGTH * torch.eye(x.shape[1], dtype=x.dtype, device=x.device))
    sums = x.mT @ ((wanted - centre) * seen) / share
    weights = torch.zeros_like(sums)
    for d in range(likelihood.n):
        own = torch.cat([rows.owners == d, rows.owners.new_zeros(1, dtype=torch.bool)])
        weights[:, owner == d] = _without(inverse, sums[:, owner == d], own)
    inputs, _, mask = (t.double() for t in rows.split(rows.record[index]))
    known = mask if visible is None else mask * visible
    x = torch.cat([rows.seen(inputs, known), torch.ones_like(mask[:, :1])], -1)
    return likelihood.decide(likelihood.limited(x @ weights + centre))


def _wanted(likelihood: TableLikelihood, targets: Tensor) -> Tensor:
    """Numbers in the units of the data, and one number for every category."""
    numbers = likelihood.numbers(targets.unsqueeze(0)).squeeze(0)
    return torch.cat([numbers, targets[:, numbers.shape[-1] :]], -1)


def _without(inverse: Tensor, sums: Tensor, own: Tensor) -> Tensor:
    """Weights where some inputs are left out, from the inverse with all of them."""
    others = sums * ~own.unsqueeze(-1)
    weights = inverse @ others
    if not bool(own.any()):
        return weights
    correction = torch.linalg.solve(inverse[own][:, own], weights[own])
    return weights - inverse[:, own] @ correction
