"""New rows of a table from a trained model."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ..families import HIVAE, VAE, Latent

Array = NDArray[np.float64]


@torch.no_grad()
def rows_from_prior(model: VAE | HIVAE, n: int, generator: torch.Generator) -> Array:
    """Draw z from the prior (HI-VAE: s, then z given s) and a row from every z, ``[n, D]`` in original units.

    Args:
        model: One replica.
        n: Number of rows.
        generator: Where noise comes from, on the model's device.
    """
    weight = next(model.parameters())
    s = None
    centre: Tensor | float = 0.0
    if isinstance(model, HIVAE):
        number = torch.randint(model.n_components, (n,), generator=generator, device=weight.device)
        s = F.one_hot(number, model.n_components).to(weight.dtype).view(1, 1, n, -1)
        centre = model.prior_mean(s[0]).unsqueeze(1)
    noise = torch.randn(1, 1, n, model.n_latent, generator=generator, dtype=weight.dtype, device=weight.device)
    return _rows(model, centre + noise, s, generator)


@torch.no_grad()
def rows_from_codes(model: VAE, codes: Array, generator: torch.Generator) -> Array:
    """Draw a row, in original units, from every z in codes ``[n, L]``, such as those of a `LatentMixture`."""
    weight = next(model.parameters())
    return _rows(model, torch.tensor(codes, dtype=weight.dtype, device=weight.device)[None, None], None, generator)


def _rows(model: VAE | HIVAE, z: Tensor, s: Tensor | None, generator: torch.Generator) -> Array:
    model.eval()
    unknown = z.new_zeros(1)  # densities play no part here
    parameters = model.decode(Latent(z, unknown, unknown, unknown, s))
    natural = model.natural(parameters)  # type: ignore[arg-type]
    return model.likelihood.sample(natural, generator)[0, 0].cpu().numpy()
