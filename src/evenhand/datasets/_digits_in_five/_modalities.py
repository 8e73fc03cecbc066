"""Small networks for digits in five modalities."""

from __future__ import annotations

from ...common import seeded
from ...modalities.estimator import Modality
from ...modalities.likelihoods import Laplace
from .._small_networks import small_networks
from ._rows import NAMES, SHAPE

N_LATENT = 16


def digits_in_five_modalities(n_latent: int = N_LATENT, *, n_layers: int = 1, seed: int = 0) -> dict[str, Modality]:
    """Small networks for digits in five modalities, all of the same kind.

    Args:
        n_latent: Size of the latent space.
        n_layers: Hidden layers of every network.
        seed: Of the initial weights.
    """
    with seeded(seed):
        return {name: Modality(*small_networks(SHAPE, n_latent, n_layers), Laplace(0.75)) for name in NAMES}
