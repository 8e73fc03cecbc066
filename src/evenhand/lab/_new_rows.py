"""New rows of some choices of an experiment, beside real ones."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch

from ..common import LatentMixture
from ..tables.families import Family
from ..tables.inference import encode, quality, rows_from_codes, rows_from_prior
from ..tables.schema import Schema
from ..tables.stack import Stack
from ._config import TableExperiment
from ._folder import Folder
from ._measured import short_number
from ._splits import Splits

Array = np.ndarray[Any, Any]

MIXTURE_ROWS = 5_000  # that the latent mixture is fitted to
MOST_COMPARED = 100  # columns whose pairs are compared; of more, so many in even steps


def generate(
    config: TableExperiment,
    splits: Splits,
    stack: Stack,
    folder: Folder,
    runs: list[dict[str, Any]],
    shown: dict[str, int],
) -> dict[str, Any]:
    """New rows of some choices (first seed) beside test rows, and how alike they are."""
    test = splits.truth[torch.tensor(splits.parts[0][2], device=splits.device)].cpu().numpy()
    n, n_seeds = min(config.evaluation.generate, len(test)), len(splits.seeds)
    arrays = {"real": test[:n]}
    for label, choice in shown.items():
        model = splits.network(splits.seeds[:1])
        replica = choice * n_seeds
        weights = stack.model.state_dict().items()
        model.load_state_dict({k: w[replica : replica + 1] if len(w) == len(stack.runs) else w for k, w in weights})
        arrays[label] = generate_rows(splits, model, splits.seeds[0], n)
        runs[choice]["quality"] = [_alike(test, arrays[label], splits.schema)] + [None] * (n_seeds - 1)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
    folder.write("samples.npz", packed.getvalue())
    return {"labels": list(shown), "runs": list(shown.values()), "seed": splits.seeds[0]}


def _alike(test: Array, made: Array, schema: Schema) -> float | None:
    """How much new rows are like real ones; pairs of all columns of a wide table would be too many."""
    step = -(-len(schema) // MOST_COMPARED)
    score = quality(test[:, ::step], made[:, ::step], Schema(tuple(schema)[::step])).score
    return short_number(score)


def generate_rows(splits: Splits, model: Family, seed: int, n: int) -> Array:
    """Rows of one replica, in the units of the data.

    As in the paper, z comes from a mixture of 100 Gaussians that is fitted to the codes of training rows; HI-VAE's
    prior is a mixture already.
    """
    generator = torch.Generator(splits.device).manual_seed(seed)
    if model.prior_is_mixture:
        return rows_from_prior(model, n, generator)
    train = splits.index(0, [seed])[0][:MIXTURE_ROWS]
    codes = encode(model, splits.rows, train, generator=generator)[0].cpu().numpy()
    drawn = LatentMixture(100).fit(codes, seed).sample(n, np.random.default_rng(seed))
    return rows_from_codes(model, drawn, generator)
