"""What a mixture-based VAE knows: latent samples given some modalities, and densities."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

from ...common import log_normal
from ..likelihoods import log_prob
from ..models import Experts, MixtureVAE, log_densities
from ..objectives import mixture_bound, mixture_log_q

ROWS_AT_ONCE = 4096


def posterior_samples(experts: Experts, n: int, generator: torch.Generator | None = None) -> Tensor:
    """Samples of the mixture of the experts, ``[n, B, L]``: for each a random expert of the row, and its Gaussian."""
    n_experts, n_rows, n_latent = experts.mean.shape
    like = experts.mean
    there = like.new_ones(n_rows, n_experts) if experts.present is None else experts.present.mT.to(like.dtype)
    chosen = torch.multinomial(there, n, replacement=True, generator=generator).mT  # [n, B]
    noise = torch.randn(n, n_rows, n_latent, generator=generator, device=like.device, dtype=like.dtype)
    rows = torch.arange(n_rows, device=like.device)
    return torch.addcmul(experts.mean[chosen, rows], experts.scale[chosen, rows], noise)


def stratified_samples(experts: Experts, n: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """n samples of every expert, ``[A, n, B, L]``, and log p(z) - log q(z) of their mixture, ``[A, n, B]``."""
    like = experts.mean
    shape = (len(like), n, *like.shape[1:])
    z = experts.samples(torch.randn(shape, generator=generator, device=like.device, dtype=like.dtype))
    log_q = mixture_log_q(log_densities(experts, [z] * len(z)), experts.present)
    return z, log_normal(z, 0.0) - log_q


def decode_in_parts(network: MixtureVAE, z: Tensor, name: str) -> Tensor:
    """Parameters of a modality's likelihood ``[..., *parameters]`` for samples ``[..., L]``, a part at a time."""
    flat = z.reshape(-1, z.shape[-1])
    return torch.cat([network.decode(part, name) for part in flat.split(ROWS_AT_ONCE)]).unflatten(0, z.shape[:-1])


@torch.no_grad()
def mixture_log_likelihood(
    network: MixtureVAE,
    values: Mapping[str, Tensor],
    observed: Tensor | None,
    *,
    given: Collection[str] = (),
    target: Collection[str],
    n_samples: int,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Importance-weighted estimates of log p(x_target | x_given) for every row, ``[B]``.

    .. math:: \log \sum_k \frac{p(x_T, x_S, z_k)}{q(z_k)} - \log \sum_k \frac{p(x_S, z_k)}{q(z_k)}, \qquad
              z_k \sim q(z | x_S)

    The samples are spread evenly over the experts. Without given modalities this is a lower bound of log p(x_T) in
    expectation, with samples of q(z | x_T): what the other modalities of a row say of z is not to be used. A row
    that lacks all of T has 0.

    Args:
        network: The model.
        values: The modalities as they are stored.
        observed: Which of them a row has, ``[B, D]``; what is missing is left out.
        given: The modalities S.
        target: The modalities T.
        n_samples: Number of samples for a row.
        generator: Of the samples.
    """
    prepared = network.prepare(values)
    experts = _proposal(network, prepared, observed, given or target)
    z, log_ratio = stratified_samples(experts, -(-n_samples // len(experts.mean)), generator)
    known = log_ratio + _log_p(network, prepared, observed, z, given)
    everything = known + _log_p(network, prepared, observed, z, target)
    joint = mixture_bound("siwae", everything, experts.present)
    return joint - mixture_bound("siwae", known, experts.present) if given else joint


def _proposal(
    network: MixtureVAE, prepared: Mapping[str, Tensor], observed: Tensor | None, names: Collection[str]
) -> Experts:
    """The posterior given some modalities, which is the prior for rows that lack them."""
    if set(names) == set(network.names):
        return network.experts(prepared, observed)
    index = [d for d, name in enumerate(network.names) if name in names]
    mask = None if observed is None else observed[:, index]
    return network.condition({network.names[d]: prepared[network.names[d]] for d in index}, mask)


def _log_p(
    network: MixtureVAE, prepared: Mapping[str, Tensor], observed: Tensor | None, z: Tensor, names: Collection[str]
) -> Tensor:
    """The sum of log p(x_d | z) over some modalities, ``[A, K, B]``."""
    total = z.new_zeros(z.shape[:-1])
    for d, name in enumerate(network.names):
        if name in names:
            parts = z.flatten(0, 1).split(max(1, ROWS_AT_ONCE // max(1, z.shape[2])))
            likelihood = network.likelihood(name)
            log_p = torch.cat([log_prob(likelihood, network.decode(part, name), prepared[name]) for part in parts])
            log_p = log_p.unflatten(0, z.shape[:2])
            total = total + (log_p if observed is None else torch.where(observed[:, d], log_p, 0.0))
    return total
