"""Which missing cell tells most about a target: expected information, measured in the latent space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ...common import normal_divergence
from ..families import Family
from ..frames import RawTable
from ..stack import Preparation
from ._inference import draws

IN_MEMORY = 20_000  # rows with drawn cells at a time

Posterior = tuple[Tensor, Tensor]
"""Mean and scale of q(z | some cells), ``[1, n, L]`` each."""


@torch.no_grad()
def rewards(
    model: Family,
    preparation: Preparation,
    table: RawTable,
    target: int,
    *,
    n_samples: int = 50,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""The expected information of every missing cell about a target, in nats.

    .. math:: R(i) = E\, \mathrm{KL}\big(q(z | x_i, x_o) \,\|\, q(z | x_o)\big)
              - E\, \mathrm{KL}\big(q(z | x_t, x_i, x_o) \,\|\, q(z | x_t, x_o)\big)

    with expectations over draws of the missing cells given those observed. If q is the posterior, this is the mutual
    information of :math:`x_i` and the target given what is observed. Ma et al., "VAEM", NeurIPS 2020.

    Args:
        model: One replica of a family whose q(z|x) is Gaussian, on the CPU.
        preparation: How it sees a table.
        table: The rows.
        target: The number of the target's column.
        n_samples: Draws of the missing cells of every row.
        generator: Where chance comes from.

    Returns:
        ``[N, D]`` in the schema's order; NaN where there is nothing to ask: for cells that are observed, for the
        target, and in rows whose target is observed.
    """
    model.eval()
    observed = torch.tensor(table.observed)
    asked = ~observed & ~observed[:, [target]]
    asked[:, target] = False
    found = torch.full(asked.shape, torch.nan, dtype=torch.double)
    open_rows, size = asked.any(1).nonzero().squeeze(-1), max(1, IN_MEMORY // n_samples)
    for part in open_rows.split(size):
        some = table.rows(part.numpy())
        gains = _gains(model, preparation, some, target, asked[part].any(0), n_samples, generator)
        found[part] = torch.where(asked[part], gains, torch.nan)
    return found


def _gains(
    model: Family,
    preparation: Preparation,
    table: RawTable,
    target: int,
    wanted: Tensor,
    n_samples: int,
    generator: torch.Generator | None,
) -> Tensor:
    """R of every wanted column, ``[N, D]``; NaN for the others."""
    given = _answers(model, preparation, table, n_samples, generator)
    before, told = given(), given(target)
    gains = torch.full(table.values.shape, torch.nan, dtype=torch.double)
    for column in wanted.nonzero().squeeze(-1).tolist():
        gain = _divergence(given(column), before) - _divergence(given(column, target), told)
        gains[:, column] = gain.view(len(table), n_samples).mean(1)
    return gains


def _answers(
    model: Family, preparation: Preparation, table: RawTable, n_samples: int, generator: torch.Generator | None
) -> Callable[..., Posterior]:
    """Posteriors given the observed cells and the drawn ones of some columns, n_samples for every row."""
    dtype = next(model.parameters()).dtype
    rows = preparation.rows(preparation.encode(table, new=True), dtype)
    drawn = draws(
        model,
        rows,
        torch.arange(len(table)),
        n_draws=n_samples,
        n_samples=n_samples,
        weighted=False,
        generator=generator,
    )
    known = np.repeat(table.observed, n_samples, 0)
    cells = drawn[0].transpose(0, 1).flatten(0, 1).numpy()
    values = np.where(known, np.repeat(table.values, n_samples, 0), cells)
    complete = preparation.rows(preparation.encode(RawTable(values, np.ones_like(known)), new=True), dtype)
    inputs, _, _ = complete.split(complete.record)
    visible = torch.tensor(known[:, model.likelihood.order]).to(inputs)
    places = model.likelihood.inverse.tolist()

    def given(*columns: int) -> Posterior:
        told = visible.clone()
        told[:, [places[column] for column in columns]] = 1
        return model.encode(model.look(complete.seen(inputs, told).unsqueeze(0)))

    return given


def _divergence(after: Posterior, before: Posterior) -> Tensor:
    """KL(after || before) of every row, ``[n]``."""
    return normal_divergence(*after, *before).sum(-1).squeeze(0).double()
