"""HI-VAE: a VAE for heterogeneous, incomplete tables whose latent space is a mixture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...common import log_normal
from ..kinds import TableLikelihood, natural, ordinal_logits
from ..schema import Kind
from ._latent import Latent
from ._layers import StackedLinear
from ._vae import Heads

STD = 0.05  # of the initial weights
WIDEST = 15.0  # of the posterior's log-variance, either way
SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-3, 1e20


class HIVAE(nn.Module):
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
        columns = list(self.likelihood.schema)
        self.owners: list[int] = []
        self.scale_owners: list[int] = []
        for inner, d in enumerate(self.likelihood.order):
            kind, size = columns[d].kind, columns[d].size
            self.owners += [inner] * (size - 1 if kind == Kind.CATEGORICAL else 1)
            if kind in (Kind.REAL, Kind.POSITIVE):
                self.scale_owners.append(inner)
            elif kind == Kind.ORDINAL:
                self.scale_owners += [inner] * (size - 1)

    @property
    def z_heads(self) -> list[int]:
        """For every column of the block at z, the head it belongs to."""
        return [d for d in range(self.likelihood.n) for _ in range(self.n_y)]

    @property
    def s_heads(self) -> list[int]:
        """For every column of the block at s, the head it belongs to."""
        return self.owners + self.scale_owners

    def infer(self, inputs: Tensor, noise: Tensor) -> Latent:
        """Samples of z and s and their densities.

        Args:
            inputs: ``[R, B, I]``.
            noise: Standard normal numbers ``[R, K, B, L + S]``.
        """
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

    def decode(self, latent: Latent, blocks: tuple[Heads, Heads] | None = None) -> tuple[Tensor, Tensor]:
        """Locations, and what sees s alone: ``[R, K, B, ...]`` each.

        Args:
            latent: Samples of z and s.
            blocks: The blocks at z and at s; ordinary linear layers if None.
        """
        assert latent.s is not None
        z, s = latent.z.flatten(1, 2), latent.s.flatten(1, 2)
        if blocks is None:
            y, at_s = self.to_y(z), self.from_s(s)
        else:
            y = blocks[0](z, self.to_y.weight, self.to_y.bias)
            at_s = blocks[1](s, self.from_s.weight)
        at_y = torch.bmm(y, (self.from_y.weight * self.own).mT)
        locations, scales = at_s.split([len(self.owners), len(self.scale_owners)], -1)
        shape = latent.z.shape[1:3]
        return (at_y + locations).unflatten(1, shape), scales.unflatten(1, shape)

    def natural(self, parameters: tuple[Tensor, Tensor], statistics: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """Natural parameters of the heads ``[R, K, B, P]``, carried back by the statistics of a batch if any."""
        locations, scales = parameters
        columns = list(self.likelihood.schema)
        position, scale_position = 0, 0
        means, raw_variances, rest = [], [], []
        for d in self.likelihood.order:
            kind, size = columns[d].kind, columns[d].size
            width = size - 1 if kind == Kind.CATEGORICAL else 1
            location = locations[..., position : position + width]
            position += width
            if kind in (Kind.REAL, Kind.POSITIVE):
                means.append(location)
                raw_variances.append(scales[..., scale_position : scale_position + 1])
                scale_position += 1
            elif kind == Kind.COUNT:
                rest.append(F.softplus(location).clamp(min=1e-6).log())
            elif kind == Kind.ORDINAL:
                rest.append(ordinal_logits(location, scales[..., scale_position : scale_position + size - 1]))
                scale_position += size - 1
            elif kind == Kind.BINARY:
                rest.append(location)
            else:
                rest.append(F.pad(location, (1, 0)))  # the first logit is zero
        if means:
            mean, variance = torch.cat(means, -1), self._variances(torch.cat(raw_variances, -1))
            if statistics is not None:
                centre, spread = (t.unsqueeze(1) for t in statistics)
                mean, variance = centre + spread * mean, spread.square() * variance
            rest.insert(0, natural(mean, variance))
        return torch.cat(rest, -1)

    def statistics(self, targets: Tensor, mask: Tensor) -> tuple[Tensor, Tensor] | None:
        """Mean and deviation of the observed numbers of a batch, ``[R, 1, gaussians]``, while training."""
        n = len(self.likelihood.positive)
        if not self.training or n == 0:
            return None
        u, m = targets[..., :n], mask[..., :n]
        count = m.sum(1, keepdim=True).clamp(min=1)
        mean = (u * m).sum(1, keepdim=True) / count
        variance = ((u - mean).square() * m).sum(1, keepdim=True) / count
        return mean, variance.sqrt().clamp(min=1e-3)

    def log_prob(self, parameters: Tensor, targets: Tensor) -> Tensor:
        """Log-densities ``[R, K, B, D]`` at natural parameters, for targets ``[R, B, T]``."""
        return self.likelihood.log_prob(parameters, targets.unsqueeze(1), natural=True)

    def _log_pi(self, inputs: Tensor) -> Tensor:
        return torch.log_softmax(self.component(inputs), -1).clamp(min=-13.8)

    def _variances(self, raw: Tensor) -> Tensor:
        variance = F.softplus(raw).clamp(SMALLEST_VARIANCE, LARGEST_VARIANCE)
        return torch.where(self.likelihood.positive, variance.clamp(max=1.0), variance)

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
