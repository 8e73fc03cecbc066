"""Draws that belong together: hidden cells are revealed one after another, each given those before."""

from __future__ import annotations

import torch
from torch import Tensor

from ..families import Family
from ..kinds import Batch
from ..stack import Preparation

ROUNDS = 64  # in which all hidden cells of a row are revealed; beyond as many cells, several at once
ROWS = 20_000  # at a time


@torch.no_grad()
def reveal(
    model: Family, preparation: Preparation, batch: Batch, generator: torch.Generator, more: Tensor | None = None
) -> Tensor:
    """Draw the missing cells of every row by the direct way of one replica, in an order of its own for every row.

    Whatever the order, the probability of a cell given all that is known is what the direct heads learn, so the
    product over the order is a joint density (Uria et al., "A Deep and Tractable Density Estimator", ICML 2014).

    Args:
        model: One replica of a family that has a direct way, on the CPU.
        preparation: How it sees a table.
        batch: The rows in the units of the model.
        generator: Where chance comes from.
        more: What is added to the outputs of all heads, `DirectWay.as_outputs`; nothing if None.

    Returns:
        All cells in the units of the model, ``[N, D]`` in the schema's order.
    """
    model.eval()
    parts = [
        _reveal(model, preparation, batch.rows(slice(i, i + ROWS)), generator, more)
        for i in range(0, len(batch), ROWS)
    ]
    return torch.cat(parts) if parts else batch.values


def _reveal(
    model: Family, preparation: Preparation, batch: Batch, generator: torch.Generator, more: Tensor | None
) -> Tensor:
    values, known = batch.values.clone(), batch.mask.clone()
    rounds = _rounds(known, generator)
    for now in range(int(rounds.max()) + 1):
        rows = (rounds == now).any(1).nonzero().squeeze(-1)
        if not len(rows):
            continue
        chosen = rounds[rows] == now
        drawn = _draw(model, preparation, Batch(values[rows], known[rows]), generator, more)
        values[rows] = torch.where(chosen, drawn.to(values), values[rows])
        known[rows] |= chosen
    return values


def _rounds(known: Tensor, generator: torch.Generator) -> Tensor:
    """When every cell is revealed, from 0 on; -1 for those that are known."""
    chance = torch.rand(known.shape, generator=generator).masked_fill(known, 2.0)
    rank = chance.argsort(1).argsort(1)
    missing = (~known).sum(1, keepdim=True)
    rounds = torch.where(missing > ROUNDS, rank * ROUNDS // missing.clamp(min=1), rank)
    return rounds.masked_fill(known, -1)


def _draw(
    model: Family, preparation: Preparation, batch: Batch, generator: torch.Generator, more: Tensor | None
) -> Tensor:
    """A draw of every cell given those known, each on its own."""
    direct = model.direct
    assert direct is not None
    rows = preparation.rows(batch, next(model.parameters()).dtype)
    inputs, _, mask = rows.split(rows.record)
    features = model.look(rows.seen(inputs, mask).unsqueeze(0))
    outputs = direct.outputs(features)
    drawn = direct.sample(outputs if more is None else outputs + more.to(outputs), generator)[0]
    return drawn[:, model.likelihood.inverse]
