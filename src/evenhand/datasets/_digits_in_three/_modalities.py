"""Small networks for digits in three modalities."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import nn

from ...modalities.estimator import Modality
from ...modalities.likelihoods import Categorical, Laplace

N_LATENT, N_HIDDEN = 10, 128


def digits_in_three_modalities(n_latent: int = N_LATENT, *, n_layers: int = 1, seed: int = 0) -> dict[str, Modality]:
    """Small networks for digits in three modalities, with the likelihoods of MNIST-SVHN-Text.

    Args:
        n_latent: Size of the latent space.
        n_layers: Hidden layers of every network.
        seed: Of the initial weights.
    """
    images = {"digit": (1, 8, 8), "colour": (3, 16, 16)}
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
        torch.manual_seed(seed)
        modalities = {
            name: Modality(*_networks(shape, n_latent, n_layers), Laplace(0.75)) for name, shape in images.items()
        }
        return modalities | {"text": Modality(*_networks((8, 71), n_latent, n_layers), Categorical(71))}


def _networks(shape: tuple[int, ...], n_latent: int, n_layers: int) -> tuple[nn.Module, nn.Module]:
    """An encoder and a decoder."""
    n = math.prod(shape)
    encoder = nn.Sequential(nn.Flatten(), *_hidden(n, n_layers), nn.Linear(N_HIDDEN, 2 * n_latent))
    decoder = [*_hidden(n_latent, n_layers), nn.Linear(N_HIDDEN, n), nn.Unflatten(1, shape)]
    return encoder, nn.Sequential(*decoder)


def _hidden(n_in: int, n_layers: int) -> list[nn.Module]:
    sizes = pairwise([n_in, *[N_HIDDEN] * n_layers])
    return [layer for before, after in sizes for layer in (nn.Linear(before, after), nn.ReLU())]
