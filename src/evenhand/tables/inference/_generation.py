"""New rows of a table from a trained model."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..families import Family, Latent

Array = NDArray[np.float64]


@torch.no_grad()
def rows_from_prior(model: Family, n: int, generator: torch.Generator) -> Array:
    """Draw latent variables from the prior and a row from each, ``[n, D]`` in original units.

    Args:
        model: One replica.
        n: Number of rows.
        generator: Where noise comes from, on the model's device.
    """
    return _rows(model, model.prior(n, generator), generator)


@torch.no_grad()
def rows_from_codes(model: Family, codes: Array, generator: torch.Generator) -> Array:
    """Draw a row, in original units, from every z in codes ``[n, L]``, such as those of a `LatentMixture`."""
    weight = next(model.parameters())
    z = torch.tensor(codes, dtype=weight.dtype, device=weight.device)[None, None]
    return _rows(model, Latent.of_samples(z), generator)


def _rows(model: Family, latent: Latent, generator: torch.Generator) -> Array:
    model.eval()
    natural = model.natural(model.decode(latent))
    return model.likelihood.sample(natural, generator)[0, 0].cpu().numpy()
