"""A recurrent variational autoencoder for histories of heterogeneous visits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ...common import normal_divergence
from ..kinds import TableLikelihood

SMALLEST_SCALE = 1e-3
N_CLOCK = 2  # what is seen of time at a visit


@dataclass(frozen=True)
class Path:
    """One draw of latent variables along histories.

    Attributes:
        features: What the heads share, y, ``[B, T, H]``.
        kl: KL(q || p) of every visit in nats, ``[B, T]``.
    """

    features: Tensor
    kl: Tensor


class HistoryVAE(nn.Module):
    r"""A SHI-VAE with Gaussian latent variables only.

    Latent variables :math:`z_t` at every visit, whose prior and decoder know the visits before.

    A state :math:`h_t` gathers :math:`z_1, \dots, z_t`. The prior is :math:`p(z_t | h_{t-1})`; the decoder turns
    :math:`[z_t, h_t]` into features y with one linear head for every column, where gradients of columns meet; the
    posterior :math:`q(z_t | x)` sees all visits, those before and after t, through a recurrent layer in both
    directions. Beside z, a direct way leads from what the posterior sees to heads of its own, which guess hidden
    cells: what goes through z pays for every nat. These heads also see the line between the nearest cells of their
    column as it is, so that learning starts from there.

    Args:
        n_inputs: Inputs of a visit, without time.
        n_line: How many of them are the line between the nearest cells.
        likelihood: The heads' likelihoods.
        n_latent: Size of z at a visit.
        n_hidden: Units of every layer.
    """

    def __init__(
        self, n_inputs: int, n_line: int, likelihood: TableLikelihood, *, n_latent: int, n_hidden: int
    ) -> None:
        super().__init__()
        self.n_inputs, self.n_latent, self.n_hidden, self.likelihood = n_inputs, n_latent, n_hidden, likelihood
        self.look = nn.Sequential(nn.Linear(n_inputs + N_CLOCK, n_hidden), nn.ReLU())
        self.both_ways = nn.GRU(n_hidden, n_hidden, batch_first=True, bidirectional=True)
        self.posterior = _perceptron(3 * n_hidden, n_hidden, 2 * n_latent)
        self.prior = _perceptron(n_hidden + N_CLOCK, n_hidden, 2 * n_latent)
        self.advance = nn.GRU(n_latent + N_CLOCK, n_hidden, batch_first=True)
        self.decoder = nn.Sequential(_perceptron(n_latent + n_hidden, n_hidden, n_hidden), nn.ReLU())
        self.head = nn.Linear(n_hidden, likelihood.n_parameters)
        self.direct = nn.Sequential(_perceptron(3 * n_hidden, n_hidden, n_hidden), nn.ReLU())
        self.direct_head = nn.Linear(n_hidden, likelihood.n_parameters)
        self.skip = nn.Linear(n_line, likelihood.n_parameters, bias=False)
        nn.init.zeros_(self.skip.weight)
        self.start = nn.Parameter(torch.zeros(n_hidden))

    def context(self, inputs: Tensor, clock: Tensor, present: Tensor) -> Tensor:
        """What the posterior sees at every visit, ``[B, T, 3 H]``: the visit, and both directions of time."""
        looked = self.look(torch.cat([inputs, clock], -1))
        # packed, so that what is said of a history does not depend on how far others make it padded
        packed = pack_padded_sequence(looked, present.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        around, _ = pad_packed_sequence(self.both_ways(packed)[0], batch_first=True, total_length=present.shape[1])
        return torch.cat([looked, around], -1)

    def infer(self, context: Tensor, clock: Tensor, noise: Tensor) -> Path:
        """Draw latent variables from the posterior, all visits at once.

        Args:
            context: From `context`.
            clock: ``[B, T, 2]``.
            noise: Standard normal numbers ``[B, T, L]``; zeros give the means.
        """
        mean, scale = _gaussian(self.posterior(context))
        z = torch.addcmul(mean, scale, noise)
        start = self._start(len(z))
        states, _ = self.advance(torch.cat([z, clock], -1), start)
        before = torch.cat([start[0].unsqueeze(1), states[:, :-1]], 1)
        prior = _gaussian(self.prior(torch.cat([before, clock], -1)))
        return Path(self.decoder(torch.cat([z, states], -1)), normal_divergence(mean, scale, *prior).sum(-1))

    def imagine(self, clock: Tensor, noise: Tensor) -> Tensor:
        """Features of new histories, ``[B, T, H]``, from the prior, one visit after another."""
        state, features = self._start(len(clock)), []
        for now, drawn in zip(clock.split(1, 1), noise.split(1, 1), strict=True):
            mean, scale = _gaussian(self.prior(torch.cat([state.transpose(0, 1), now], -1)))
            z = torch.addcmul(mean, scale, drawn)
            after, state = self.advance(torch.cat([z, now], -1), state)
            features.append(self.decoder(torch.cat([z, after], -1)))
        return torch.cat(features, 1)

    def _start(self, n: int) -> Tensor:
        """The state before the first visit, ``[1, n, H]``."""
        return self.start.expand(1, n, -1).contiguous()


def _gaussian(raw: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and scale."""
    mean, scale = raw.chunk(2, -1)
    return mean, F.softplus(scale) + SMALLEST_SCALE


def _perceptron(n_in: int, n_hidden: int, n_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(n_in, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_out))
