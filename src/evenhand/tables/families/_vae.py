"""The paper's VAE for heterogeneous tables (appendix D.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from ...common import log_normal
from ..kinds import TableLikelihood
from ._family import Family, Heads, Statistics
from ._latent import Latent
from ._layers import GAINS, StackedBatchNorm, StackedLinear, linear

SMALLEST_SCALE = 1e-6


class VAE(Family):
    r"""R variational autoencoders of the paper's form, side by side.

    Encoder: dropout, batch normalisation, three hidden layers (tanh), mean and scale of
    :math:`q(z|x) = N(\mu(x), \sigma(x))`. Decoder: three hidden layers (ReLU), the shared features y, and one
    linear head for every column. The gradients of the heads meet at y.

    Args:
        n_inputs: Number of the encoder's inputs.
        likelihood: The heads' likelihoods.
        seeds: One for every replica; the initial weights belong to the seed.
        n_latent: Size of z.
        n_hidden: Size of the hidden layers.
        n_layers: Number of hidden layers, each way.
    """

    name = "vae"
    objectives = ("elbo", "iwae", "dreg")
    posterior_is_gaussian = True
    takes_dropout = True

    def __init__(
        self,
        n_inputs: int,
        likelihood: TableLikelihood,
        *,
        seeds: Sequence[int],
        n_latent: int,
        n_hidden: int = 50,
        n_layers: int = 3,
    ) -> None:
        super().__init__()
        self.n_latent = self.n_noise = n_latent  # noise: what `infer` needs for a row and a sample
        self.likelihood = likelihood
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.normalise = StackedBatchNorm(n_inputs, len(seeds))
        self.encoder = _layers(n_inputs, n_hidden, n_layers, draws, nn.Tanh, GAINS["tanh"])
        self.posterior = StackedLinear(n_hidden, 2 * n_latent, draws, fan_out=[n_latent] * 2 * n_latent)
        self.decoder = _layers(n_latent, n_hidden, n_layers, draws, nn.ReLU, GAINS["relu"])
        self.head = StackedLinear(
            n_hidden, likelihood.n_parameters, draws, gain=GAINS["relu"], fan_out=likelihood.fan_out
        )

    def architecture(self) -> dict[str, Any]:
        """Sizes."""
        return {
            "n_inputs": self.normalise.mean.shape[-1],
            "n_latent": self.n_latent,
            "n_hidden": self.posterior.weight.shape[-1],
            "n_layers": len(self.encoder) // 2,  # every layer has an activation
        }

    @property
    def block_heads(self) -> list[list[int]]:
        """All heads meet at y."""
        heads: list[int] = self.likelihood.heads.tolist()
        return [heads]

    def encode(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale of q(z|x), ``[R, B, L]``, for inputs ``[R, B, I]``."""
        mean, raw = self.posterior(self.encoder(self.normalise(inputs))).chunk(2, -1)
        return mean, F.softplus(raw) + SMALLEST_SCALE

    def infer(self, inputs: Tensor, noise: Tensor, *, fixed_density: bool = False) -> Latent:
        """Samples of z and their densities.

        Args:
            inputs: ``[R, B, I]``.
            noise: Standard normal numbers ``[R, K, B, L]``.
            fixed_density: Whether log q is taken at constant parameters, so that gradients flow through z alone.
        """
        mean, scale = self.encode(inputs)
        kl = (0.5 * (mean.square() + scale.square() - 1) - scale.log()).sum(-1)
        mean, scale = mean.unsqueeze(1), scale.unsqueeze(1)
        z = torch.addcmul(mean, scale, noise)
        if fixed_density:
            mean, scale = mean.detach(), scale.detach()
        return Latent(z, log_normal(z, mean, scale.log()), log_normal(z, 0.0), kl)

    def most_probable(self, inputs: Tensor) -> Latent:
        """The mode of q(z|x), with K = 1."""
        return self.infer(inputs, inputs.new_zeros(len(inputs), 1, inputs.shape[1], self.n_latent))

    def decode(self, latent: Latent, blocks: Sequence[Heads] = (), *, frozen: bool = False) -> Tensor:
        """Unconstrained parameters of all heads, ``[R, K, B, P]``, with the block at y if there is one."""
        z = latent.z.flatten(1, 2)
        weight: Tensor = self.head.weight
        bias: Tensor | None = self.head.bias
        if frozen:
            constant = {name: p.detach() for name, p in self.decoder.named_parameters()}
            y = functional_call(self.decoder, constant, (z,))
            weight, bias = weight.detach(), None if bias is None else bias.detach()
        else:
            y = self.decoder(z)
        if blocks:
            raw = blocks[0](y, weight, bias)
        else:
            raw = linear(y, weight, bias)
        return raw.unflatten(1, latent.z.shape[1:3])

    def natural(self, outputs: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Natural parameters of the heads."""
        return self.likelihood.constrain(outputs)

    def log_prob(self, outputs: Tensor, targets: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Log-densities at unconstrained parameters, with slopes written by hand."""
        return self.likelihood.log_prob(outputs, targets.unsqueeze(1))

    def start_from(self, marginals: Tensor) -> None:
        """As biases of the heads: fewer steps are wasted than from zero, as in the paper."""
        assert self.head.bias is not None
        self.head.bias.data = marginals.to(self.head.bias.device).expand_as(self.head.bias).clone()


def _layers(
    n_in: int, n_hidden: int, number: int, draws: Sequence[torch.Generator], activation: type[nn.Module], gain: float
) -> nn.Sequential:
    sizes = [n_in] + [n_hidden] * number
    pairs = pairwise(sizes)
    return nn.Sequential(*[m for a, b in pairs for m in (StackedLinear(a, b, draws, gain=gain), activation())])
