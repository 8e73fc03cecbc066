"""Latent samples of training rows, from which new rows can be generated without the prior."""

from __future__ import annotations

import torch
from torch import Tensor

from ...common import LatentMixture
from ..inference import evaluating, posterior_samples
from ..models import MixtureVAE
from ..rows import Modalities
from ._answers import posterior

CODES_KEPT = 5_000


def sample_codes(network: MixtureVAE, rows: Modalities, seed: int) -> Tensor:
    """One latent sample for each of some random rows, ``[N, L]``."""
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))[:CODES_KEPT]
    generator = torch.Generator(network.subsets.device).manual_seed(seed)
    with evaluating(network):
        return posterior_samples(posterior(network, rows.subset(order.to(rows.device))), 1, generator)[0]


def prior_samples(n: int, like: Tensor, generator: torch.Generator) -> Tensor:
    """New codes ``[n, L]`` of the prior, of the type of some others."""
    return torch.randn(n, like.shape[1], generator=generator, device=like.device, dtype=like.dtype)


def fit_codes(codes: Tensor) -> LatentMixture:
    """A mixture of Gaussians over the codes."""
    if not len(codes):
        raise RuntimeError("latent='mixture' needs a model that was fitted to Modalities or a dictionary first.")
    return LatentMixture().fit(codes.double().cpu().numpy(), seed=0)


def sample_mixture(mixture: LatentMixture, n: int, seed: int, like: Tensor) -> Tensor:
    """New codes ``[n, L]``, of the type of some others."""
    import numpy as np

    drawn: np.ndarray = mixture.sample(n, np.random.default_rng(seed % 2**63))
    return torch.as_tensor(drawn).to(like)
