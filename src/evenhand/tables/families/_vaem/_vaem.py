"""VAEM: marginal VAEs, then a VAE over their codes (Ma et al., NeurIPS 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ....common import log_normal, normal_divergence
from ...kinds import TableLikelihood
from .._family import Family, Heads, Statistics
from .._latent import Latent
from .._layers import GAINS, StackedLinear
from ._marginals import Marginals

MARGINAL_STEPS = 500
"""Steps of the first stage: a column alone is learnt soon."""
MARGINAL_KL = 0.1
"""The KL weight of the first stage. At 1 an empty code is a best one for a column its likelihood describes alone."""
SMALLEST_SCALE = 1e-3


class VAEM(Family):
    r"""R VAEMs of Ma, Tschiatschek, Turner, Hernández-Lobato and Zhang (NeurIPS 2020), side by side.

    .. math:: h \sim N(0, I), \quad z_d \sim N(\mu_d(h), \sigma_d(h)), \quad x_d \sim p_d(\cdot \,|\, \eta_d(z_d))

    Two stages. In the first, every column has a VAE of its own with one latent variable (`Marginals`), so that all
    columns become numbers of one scale. In the second, one more VAE learns how the codes depend on each other: its
    encoder sees the codes of visible cells and which they are, its decoder has two outputs for every column, and
    there the gradients of the columns meet. The first stage never learns from the second, and ends early: for the
    rest of the training its networks stand still. (The second has begun by then, so that short trainings have both.)

    A column is scored given h by its own lower bound, :math:`E_q \log p(x_d|z_d) - \mathrm{KL}(q(z_d|x_d) \,\|\,
    p(z_d|h))`. Latent variables are h and :math:`e_d = (z_d - \mu_d(h)) / \sigma_d(h)`, all standard normal a priori.

    Args:
        n_inputs: Number of inputs, with one for every column that says whether it is visible, at the end.
        likelihood: The likelihoods of the columns.
        seeds: One for every replica; the initial weights belong to the seed.
        n_latent: Size of h.
        n_hidden: Size of the hidden layers of the second stage.
        n_layers: Their number, each way.
    """

    name = "vaem"  # its only objective is the ELBO
    encoding = "one-hot"
    see_mask = True
    analytic_kl = True
    posterior_is_gaussian = True

    first: Tensor

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
        self.likelihood, self.n_latent, self.n_inputs = likelihood, n_latent, n_inputs
        self.n_noise = n_latent + likelihood.n
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.marginals = Marginals(likelihood, draws)
        self.encoder = _hidden([2 * likelihood.n] + [n_hidden] * n_layers, draws)
        self.posterior = StackedLinear(n_hidden, 2 * n_latent, draws)
        self.decoder = _hidden([n_latent] + [n_hidden] * n_layers, draws)
        self.head = StackedLinear(n_hidden, 2 * likelihood.n, draws, fan_out=[2] * 2 * likelihood.n)
        self.register_buffer("first", torch.ones(1))

    def architecture(self) -> dict[str, Any]:
        """Sizes."""
        return {
            "n_inputs": self.n_inputs,
            "n_latent": self.n_latent,
            "n_hidden": self.posterior.weight.shape[-1],
            "n_layers": len(self.encoder) // 2,  # every layer has an activation
        }

    @property
    def block_heads(self) -> list[list[int]]:
        """Means and scales of all codes meet at the features of the second stage's decoder."""
        return [[*range(self.likelihood.n), *range(self.likelihood.n)]]

    def measure(self, inputs: Tensor, targets: Tensor, mask: Tensor) -> None:
        """Centre and spread of what the first stage sees."""
        self.marginals.measure(inputs[:, : -self.likelihood.n], mask)

    def start_step(self, steps: Tensor, steps_per_epoch: int) -> None:
        """End the first stage when it is time."""
        self.first.copy_(steps < MARGINAL_STEPS)

    def start_from(self, marginals: Tensor) -> None:
        """The first stage starts there."""
        self.marginals.start_from(marginals)

    @torch.no_grad()  # the second stage never teaches the first
    def look(self, inputs: Tensor) -> Tensor:
        """Means and scales of the codes of all cells, and which are visible, ``[R, B, 3 D]``."""
        cells, seen = inputs.split([self.n_inputs - self.likelihood.n, self.likelihood.n], -1)
        return torch.cat([*self.marginals.encode(cells), (seen > 0).to(inputs)], -1)

    def encode(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale of q(h|x), ``[R, B, L]``, from what `look` gives."""
        codes, _, visible = inputs.chunk(3, -1)
        mean, raw = self.posterior(self.encoder(torch.cat([codes * visible, visible], -1))).chunk(2, -1)
        return mean, _width(raw)

    def infer(self, inputs: Tensor, noise: Tensor, *, fixed_density: bool = False) -> Latent:
        """Samples of h and e and their densities.

        In training e is noise, since `log_prob` knows the codes of the cells that it scores, and s says which cells
        are visible. Otherwise e is that of the codes of visible cells, as their encoders have them.
        """
        assert not fixed_density, "DReG, which needs a fixed density, is not for VAEM"
        mean, scale = self.encode(inputs)
        for_h, for_e = noise.split([self.n_latent, self.likelihood.n], -1)
        kl, mean, scale = normal_divergence(mean, scale).sum(-1), mean.unsqueeze(1), scale.unsqueeze(1)
        h = torch.addcmul(mean, scale, for_h)
        found = Latent(h, log_normal(h, mean, scale.log()), log_normal(h, 0.0), kl)
        if self.training:
            visible = inputs.chunk(3, -1)[2].unsqueeze(1)
            return replace(found, z=_joined(h, for_e), s=visible.expand(*h.shape[:-1], -1))
        return self._with_codes(found, inputs, for_e)

    def _with_codes(self, found: Latent, inputs: Tensor, noise: Tensor) -> Latent:
        """h, and e: that of the codes of visible cells, and noise for the others."""
        mean, scale, visible = (x.unsqueeze(1) for x in inputs.chunk(3, -1))
        centre, raw = self._outputs(found.z).chunk(2, -1)
        width = _width(raw)
        e = torch.where(visible > 0, (mean + scale * noise - centre) / width, noise)
        log_q = log_normal(noise, 0.0) + (visible * (width / scale).log()).sum(-1)
        kl = (visible * normal_divergence(mean, scale, centre, width)).sum(-1).mean(1)
        densities = {"log_q": found.log_q + log_q, "log_prior": found.log_prior + log_normal(e, 0.0)}
        return replace(found, z=_joined(found.z, e), cells_kl=kl, **densities)

    def most_probable(self, inputs: Tensor) -> Latent:
        """The mode of q(h|x) and, for all columns, the mode of the code given h, with K = 1."""
        h = self.encode(inputs)[0].unsqueeze(1)
        return Latent.of_samples(_joined(h, h.new_zeros(self.likelihood.n)))

    def decode(self, latent: Latent, blocks: Sequence[Heads] = (), *, frozen: bool = False) -> Tensor:
        """What the heads say of the mean and the scale of every code, e, and which cells are scored given h.

        ``[R, K, B, 4 D]``.
        """
        assert not frozen, "DReG, which needs a frozen decoder, is not for VAEM"
        h, e = latent.z.split([self.n_latent, self.likelihood.n], -1)
        scored = torch.ones_like(e) if latent.s is None else latent.s
        return torch.cat([self._outputs(h, blocks), e, scored], -1)

    def _outputs(self, h: Tensor, blocks: Sequence[Heads] = ()) -> Tensor:
        y = self.decoder(h.flatten(1, 2))
        outputs = blocks[0](y, self.head.weight, self.head.bias) if blocks else self.head(y)
        return outputs.unflatten(1, h.shape[1:3])

    def natural(self, outputs: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Natural parameters of the columns at their codes."""
        centre, raw, e, _ = outputs.chunk(4, -1)
        return self.likelihood.constrain(self.marginals.decode(centre + _width(raw) * e))

    def log_prob(self, outputs: Tensor, targets: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Lower bounds of log p(x_d|h); while the first stage is trained, that of log p(x_d) is added.

        In training a cell that is hidden from h is not scored given h: only then is q(h|x) the posterior given the
        cells that are visible, which acquisition is about.
        """
        centre, raw, noise, scored = outputs.chunk(4, -1)
        mean, scale = (x.unsqueeze(1) for x in self.marginals.encode(self.marginals.cells(targets)))
        log_p = self.likelihood.log_prob(self.marginals.decode(mean + scale * noise.detach()), targets.unsqueeze(1))
        given_h = log_p.detach() - normal_divergence(mean.detach(), scale.detach(), centre, _width(raw))
        if not self.training:
            return given_h
        alone = log_p - MARGINAL_KL * normal_divergence(mean, scale)
        return self.first * alone + scored * given_h


def _width(raw: Tensor) -> Tensor:
    """The scale of p(z|h), from what its heads put out."""
    return F.softplus(raw) + SMALLEST_SCALE


def _joined(h: Tensor, e: Tensor) -> Tensor:
    return torch.cat([h, e.expand(*h.shape[:-1], -1)], -1)


def _hidden(sizes: Sequence[int], draws: Sequence[torch.Generator]) -> nn.Sequential:
    layers = [StackedLinear(a, b, draws, gain=GAINS["relu"]) for a, b in pairwise(sizes)]
    return nn.Sequential(*[module for layer in layers for module in (layer, nn.SiLU())])
