"""Fully connected networks made from shapes, small enough for any machine."""

from __future__ import annotations

import math
from itertools import pairwise

from torch import nn

N_HIDDEN = 128


def small_networks(shape: tuple[int, ...], n_latent: int, n_layers: int) -> tuple[nn.Module, nn.Module]:
    """An encoder and a decoder of items of a shape, with hidden layers of 128 units."""
    n = math.prod(shape)
    encoder = nn.Sequential(nn.Flatten(), *_hidden(n, n_layers), nn.Linear(N_HIDDEN, 2 * n_latent))
    decoder = [*_hidden(n_latent, n_layers), nn.Linear(N_HIDDEN, n), nn.Unflatten(1, shape)]
    return encoder, nn.Sequential(*decoder)


def _hidden(n_in: int, n_layers: int) -> list[nn.Module]:
    sizes = pairwise([n_in, *[N_HIDDEN] * n_layers])
    return [layer for before, after in sizes for layer in (nn.Linear(before, after), nn.ReLU())]
