"""Small networks for digits in three modalities."""

from __future__ import annotations

from ...common import seeded
from ...modalities.estimator import Modality
from ...modalities.likelihoods import Categorical, Laplace
from .._small_networks import small_networks

N_LATENT = 10


def digits_in_three_modalities(n_latent: int = N_LATENT, *, n_layers: int = 1, seed: int = 0) -> dict[str, Modality]:
    """Small networks for digits in three modalities, with the likelihoods of MNIST-SVHN-Text.

    Args:
        n_latent: Size of the latent space.
        n_layers: Hidden layers of every network.
        seed: Of the initial weights.
    """
    images = {"digit": (1, 8, 8), "colour": (3, 16, 16)}
    with seeded(seed):
        modalities = {
            name: Modality(*small_networks(shape, n_latent, n_layers), Laplace(0.75))
            for name, shape in images.items()
        }
        return modalities | {"text": Modality(*small_networks((8, 71), n_latent, n_layers), Categorical(71))}
