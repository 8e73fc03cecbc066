"""HI-VAE: a VAE for heterogeneous, incomplete tables whose latent space is a mixture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...common import log_normal
from ..kinds import TableLikelihood
from ._family import Family, Heads, Sizes, Statistics
from ._latent import Latent
from ._layers import StackedLinear

STD = 0.05  # of the initial weights
WIDEST = 15.0  # of the posterior's log-variance, either way


class HIVAE(Family):
    r"""R HI-VAEs of Nazabal, Olmos, Ghahramani and Valera (Pattern Recognition, 2020), side by side.

    .. math:: s \sim \mathrm{Cat}(1/S), \quad z | s \sim N(\mu_0(s), I), \quad y = W z + b = (y_1, \dots, y_D), \quad
              x_d \sim p_d(\cdot \,|\, \gamma_d(y_d, s))

    Everything after the normalised inputs is linear; the mixture makes it expressive. Locations see
    :math:`[y_d, s]`, scales and thresholds see s alone, heads have no bias. s is sampled by Gumbel-softmax with
    temperature :math:`\max(1 - 0.01\,\text{epoch}, 10^{-3})`; both KL terms are analytic, at the relaxed s.
    The gradients of the heads meet in two places, z and s, with a block each.

    The normalisation layer shifts and scales real columns and log(1 + x) of positive ones by the statistics of
    the batch while training and by those of the training data otherwise; parameters are carried back with the
    same statistics. (The original uses those of the batch always, so that a row's result depends on its
    neighbours.)

    Args:
        n_inputs: Number of the encoder's inputs, with the encoding "hivae".
        likelihood: The heads' likelihoods.
        seeds: One for every replica.
        n_latent: Size of z.
        n_components: Size of s.
        n_y: Size of every y_d.
    """

    name = "hivae"
    objectives = ("elbo", "iwae")  # its component s cannot be reparametrised twice, as DReG would need it
    encoding = "hivae"
    positive = "log1p"
    analytic_kl = True
    default = Sizes(n_latent=10)  # there are no hidden layers
    prior_is_mixture = True

    temperature: Tensor

    def __init__(
        self,
        n_inputs: int,
        likelihood: TableLikelihood,
        *,
        seeds: Sequence[int],
        n_latent: int = 10,
        n_components: int = 10,
        n_y: int = 5,
    ) -> None:
        super().__init__()
        self.likelihood = likelihood
        self.n_latent, self.n_components, self.n_y = n_latent, n_components, n_y
        self.n_noise = n_latent + n_components  # what `infer` needs for a row and a sample
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]

        def linear(a: int, b: int, bias: float | None = 0.0) -> StackedLinear:
            return StackedLinear(a, b, draws, bias=bias, std=STD)

        self.component = linear(n_inputs, n_components)
        self.mean = linear(n_inputs + n_components, n_latent)
        self.log_variance = linear(n_inputs + n_components, n_latent)
        self.prior_mean = linear(n_components, n_latent)
        self.to_y = linear(n_latent, likelihood.n * n_y)
        self._outputs()
        self.from_y = linear(likelihood.n * n_y, len(self.owners), None)
        self.from_s = linear(n_components, len(self.owners) + len(self.scale_owners), None)
        own = torch.tensor(self.owners).unsqueeze(-1) == torch.arange(likelihood.n).repeat_interleave(n_y)
        self.own: Tensor
        self.register_buffer("own", own.to(torch.get_default_dtype()), persistent=False)
        self.register_buffer("temperature", torch.ones(1))

    def _outputs(self) -> None:
        """Which column every output of the heads belongs to: locations first, then what sees s alone."""
        columns = list(enumerate(self.likelihood.columns))
        self.owners = [inner for inner, column in columns for _ in range(column.n_locations)]
        self.scale_owners = [inner for inner, column in columns for _ in range(column.n_scales)]

    def architecture(self) -> dict[str, Any]:
        """Sizes."""
        n_inputs = self.component.weight.shape[-1]
        sizes = {"n_latent": self.n_latent, "n_components": self.n_components, "n_y": self.n_y}
        return {"n_inputs": n_inputs, **sizes}

    @property
    def block_heads(self) -> list[list[int]]:
        """The heads meet at z, through their parts of y, and at s."""
        at_z = [d for d in range(self.likelihood.n) for _ in range(self.n_y)]
        return [at_z, self.owners + self.scale_owners]

    def infer(self, inputs: Tensor, noise: Tensor, *, fixed_density: bool = False) -> Latent:
        """Samples of z and s and their densities, from noise ``[R, K, B, L + S]``."""
        assert not fixed_density, "densities of s have no constant parameters"
        log_pi = self._log_pi(inputs)
        for_z, for_s = noise.split([self.n_latent, self.n_components], -1)
        uniform = torch.special.ndtr(for_s).clamp(1e-6, 1 - 1e-6)
        logits = log_pi.unsqueeze(1) - torch.log(-uniform.log())  # Gumbel noise
        if self.training:
            s = torch.softmax(logits / self.temperature, -1)
        else:
            s = F.one_hot(logits.argmax(-1), self.n_components).to(logits.dtype)
        return self._latent(inputs, log_pi, s, for_z)

    def most_probable(self, inputs: Tensor) -> Latent:
        """The most probable s and the mean of z given it, with K = 1."""
        log_pi = self._log_pi(inputs)
        s = F.one_hot(log_pi.argmax(-1), self.n_components).to(log_pi.dtype).unsqueeze(1)
        return self._latent(inputs, log_pi, s, s.new_zeros(*s.shape[:-1], self.n_latent))

    def prior(self, n: int, generator: torch.Generator) -> Latent:
        """s, then z given s."""
        like = self.component.weight
        number = torch.randint(self.n_components, (n,), generator=generator, device=like.device)
        s = F.one_hot(number, self.n_components).to(like.dtype).view(1, 1, n, -1)
        noise = torch.randn(1, 1, n, self.n_latent, generator=generator, dtype=like.dtype, device=like.device)
        return Latent.of_samples(self.prior_mean(s[0]).unsqueeze(1) + noise, s)

    def decode(self, latent: Latent, blocks: Sequence[Heads] = (), *, frozen: bool = False) -> Tensor:
        """Locations, then what sees s alone, ``[R, K, B, ...]``; with the blocks at z and at s if there are any."""
        assert latent.s is not None
        assert not frozen, "DReG, which needs a frozen decoder, is not for HI-VAE"
        z, s = latent.z.flatten(1, 2), latent.s.flatten(1, 2)
        if blocks:
            y = blocks[0](z, self.to_y.weight, self.to_y.bias)
            at_s = blocks[1](s, self.from_s.weight)
        else:
            y, at_s = self.to_y(z), self.from_s(s)
        at_y = torch.bmm(y, (self.from_y.weight * self.own).mT)
        outputs = at_s + F.pad(at_y, (0, len(self.scale_owners)))
        return outputs.unflatten(1, latent.z.shape[1:3])

    def natural(self, outputs: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Natural parameters of the heads ``[R, K, B, P]``, carried back by the statistics of a batch if any."""
        locations, scales = outputs.split([len(self.owners), len(self.scale_owners)], -1)
        return self.likelihood.natural(locations, scales, statistics)

    def statistics(self, targets: Tensor, mask: Tensor) -> Statistics | None:
        """Mean and deviation of the observed numbers of a batch, ``[R, 1, gaussians]``, while training."""
        n = self.likelihood.n_normalised
        if not self.training or n == 0:
            return None
        u, m = targets[..., :n], mask[..., :n]
        count = m.sum(1, keepdim=True).clamp(min=1)
        mean = (u * m).sum(1, keepdim=True) / count
        variance = ((u - mean).square() * m).sum(1, keepdim=True) / count
        return mean, variance.sqrt().clamp(min=1e-3)

    def normalise_by_batch(self, inputs: Tensor, targets: Tensor, mask: Tensor) -> tuple[Tensor, Statistics | None]:
        """The normalisation layer; the numbers are the first inputs."""
        statistics = self.statistics(targets, mask)
        if statistics is None:
            return inputs, None
        mean, deviation = statistics
        numbers, rest = inputs.split([mean.shape[-1], inputs.shape[-1] - mean.shape[-1]], -1)
        return torch.cat([(numbers - mean) / deviation, rest], -1), statistics

    def start_step(self, steps: Tensor, steps_per_epoch: int) -> None:
        """Let the temperature of s fall by the epoch."""
        epoch = torch.floor(steps / steps_per_epoch)
        self.temperature.copy_((1 - 0.01 * epoch).clamp(min=1e-3))

    def _log_pi(self, inputs: Tensor) -> Tensor:
        return torch.log_softmax(self.component(inputs), -1).clamp(min=-13.8)

    def _latent(self, inputs: Tensor, log_pi: Tensor, s: Tensor, noise: Tensor) -> Latent:
        k = s.shape[1]
        seen = torch.cat([inputs.unsqueeze(1).expand(-1, k, -1, -1), s], -1).flatten(1, 2)
        mean = self.mean(seen).unflatten(1, s.shape[1:3])
        log_variance = self.log_variance(seen).clamp(-WIDEST, WIDEST).unflatten(1, s.shape[1:3])
        prior = self.prior_mean(s.flatten(1, 2)).unflatten(1, s.shape[1:3])
        z = torch.addcmul(mean, torch.exp(0.5 * log_variance), noise)
        uniform = math.log(self.n_components)
        kl_s = (log_pi.exp() * log_pi).sum(-1) + uniform
        kl_z = 0.5 * (log_variance.exp() + (mean - prior).square() - 1 - log_variance).sum(-1)
        log_q = log_normal(z, mean, 0.5 * log_variance) + (s * log_pi.unsqueeze(1)).sum(-1)
        return Latent(z, log_q, log_normal(z, prior) - uniform, kl_z.mean(1) + kl_s, s)
