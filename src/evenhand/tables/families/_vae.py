"""The paper's VAE for heterogeneous tables (appendix D.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from ...common import log_normal
from ..kinds import TableLikelihood
from ._latent import Latent
from ._layers import GAINS, StackedBatchNorm, StackedLinear

SMALLEST_SCALE = 1e-6

Heads = Callable[..., Tensor]
"""What turns the shared features y, the heads' weights and biases into parameters: a `LinearBlock`, or nothing."""


class VAE(nn.Module):
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

    def decode(self, latent: Latent, heads: Heads | None = None, *, frozen: bool = False) -> Tensor:
        """Unconstrained parameters of all heads, ``[R, K, B, P]``.

        Args:
            latent: Samples of z.
            heads: The block at y; ordinary linear heads if None.
            frozen: Whether the decoder's parameters get no gradients.
        """
        z = latent.z.flatten(1, 2)
        weight: Tensor = self.head.weight
        bias: Tensor | None = self.head.bias
        if frozen:
            constant = {name: p.detach() for name, p in self.decoder.named_parameters()}
            y = functional_call(self.decoder, constant, (z,))
            weight, bias = weight.detach(), None if bias is None else bias.detach()
        else:
            y = self.decoder(z)
        if heads is None:
            raw = torch.baddbmm(bias.unsqueeze(1), y, weight.mT)  # type: ignore[union-attr]
        else:
            raw = heads(y, weight, bias)
        return raw.unflatten(1, latent.z.shape[1:3])

    def log_prob(self, parameters: Tensor, targets: Tensor) -> Tensor:
        """Log-densities ``[R, K, B, D]`` for targets ``[R, B, T]``."""
        return self.likelihood.log_prob(parameters, targets.unsqueeze(1))

    def natural(self, parameters: Tensor) -> Tensor:
        """Natural parameters of the heads from what `decode` gives."""
        return self.likelihood.constrain(parameters)


def _layers(
    n_in: int, n_hidden: int, number: int, draws: Sequence[torch.Generator], activation: type[nn.Module], gain: float
) -> nn.Sequential:
    sizes = [n_in] + [n_hidden] * number
    pairs = pairwise(sizes)
    return nn.Sequential(*[m for a, b in pairs for m in (StackedLinear(a, b, draws, gain=gain), activation())])
