"""Mixture-based multimodal VAEs: MVAE, MMVAE, MoPoE and everything between (section 4.2 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ...common import log_normal
from ..likelihoods import Likelihood, full_precision, log_prob
from ._experts import Experts, members_observed, product_of_experts

SMALLEST_SCALE = 1e-6

Split = Callable[[Tensor, int, Tensor | None], Sequence[Tensor]]
"""Hands out n views of samples z ``[A, K, B, L]``: one for every decoder, or for every density. It is told which of
the n a row has, ``[A, 1, B, n]``, or None for all. A `Block`, or plain copies."""

Views = Sequence[Tensor]
"""Samples z ``[A, K, B, L]`` as each decoder or density gets them."""

Decoders = Sequence[Callable[[Tensor], Tensor]]
"""One decoder, as it is called for the samples of each of the A experts."""


@dataclass(frozen=True)
class MixtureTerms:
    """Everything that objectives are functions of, for A experts, K samples, B rows and D modalities.

    Attributes:
        log_likelihood: log p(x_d | z_A), ``[A, K, B, D]``; 0 where a row lacks the modality.
        log_q: log q_A'(z_A | x), ``[A, A', K, B]``.
        log_prior: log p(z_A), ``[A, K, B]``.
        experts: The experts themselves.
    """

    log_likelihood: Tensor
    log_q: Tensor
    log_prior: Tensor
    experts: Experts


class MixtureVAE(nn.Module):
    r"""A VAE with an encoder and a decoder for every modality, whose posterior is a mixture of products.

    .. math:: q(z|x) = \frac{1}{|\mathcal A|} \sum_{A \in \mathcal A} q_A(z|x_A), \qquad
              q_A(z|x_A) \propto \prod_{d \in A} q_d(z|x_d), \qquad p(x|z) = \prod_d p(x_d|z)

    Wu and Goodman, NeurIPS 2018 (one product); Shi et al., NeurIPS 2019 (a mixture); Sutter et al., ICLR 2021
    (a mixture of products).

    Args:
        encoders: For every modality a module from inputs ``[B, ...]`` to mean and raw scale ``[B, 2 L]``, or to a
            pair of mean and (positive) scale.
        decoders: For every modality a module from z ``[N, L]`` to the parameters of its likelihood ``[N, ...]``.
        likelihoods: For every modality its likelihood.
        subsets: The modalities of every expert.
        n_latent: L.
        prior_expert: Whether the prior is a member of every product.
    """

    subsets: Tensor  # [A, D]

    def __init__(
        self,
        encoders: Mapping[str, nn.Module],
        decoders: Mapping[str, nn.Module],
        likelihoods: Mapping[str, Likelihood],
        *,
        subsets: Sequence[Sequence[str]],
        n_latent: int,
        prior_expert: bool = False,
    ) -> None:
        super().__init__()
        self.names = list(encoders)
        # names may hold dots, which modules may not: inside, modalities are numbers
        self.encoders = nn.ModuleList(encoders[name] for name in self.names)
        self.decoders = nn.ModuleList(decoders[name] for name in self.names)
        self.likelihoods = nn.ModuleList(likelihoods[name] for name in self.names)
        self.n_latent = n_latent
        self.prior_expert = prior_expert
        chosen = torch.tensor([[name in subset for name in self.names] for subset in subsets])
        self.register_buffer("subsets", chosen, persistent=False)
        self._alone = not prior_expert and torch.equal(chosen, torch.eye(len(self.names), dtype=torch.bool))

    @property
    def n_experts(self) -> int:
        """Number of experts |A|."""
        return len(self.subsets)

    def prepare(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Stored values as the likelihoods compare with them."""
        return {name: _channels_last(self.likelihood(name).prepare(x)) for name, x in values.items()}

    def likelihood(self, name: str) -> Likelihood:
        """The likelihood of a modality."""
        likelihood = self.likelihoods[self.names.index(name)]
        assert isinstance(likelihood, Likelihood)
        return likelihood

    def posteriors(self, values: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Mean and scale of the posterior of every modality that is given, ``[D', B, L]``, in the model's order."""
        pairs = []
        for name, encoder in zip(self.names, self.encoders, strict=True):
            if name in values:
                inputs = self.likelihood(name).inputs(values[name])
                pairs.append(self._posterior(encoder(_as_weights(inputs, encoder))))
        return torch.stack([mean for mean, _ in pairs]), torch.stack([scale for _, scale in pairs])

    def experts(self, values: Mapping[str, Tensor], observed: Tensor | None = None) -> Experts:
        """The experts of rows with all modalities, or with those that the mask ``[B, D]`` says."""
        mean, scale = self.posteriors(values)
        present = None
        if observed is None and self._alone:
            return Experts(mean, scale)  # a product of one is that one
        members = self.subsets
        if observed is not None:
            members, present = members_observed(self.subsets, observed)
        return Experts(*product_of_experts(mean, scale, members, prior=self.prior_expert), present)

    def condition(self, values: Mapping[str, Tensor], observed: Tensor | None = None) -> Experts:
        """The posterior given some modalities: their product if one expert has seen them together, else a mixture.

        Args:
            values: The prepared values of the given modalities.
            observed: Which of the given ones a row has, ``[B, D']``.
        """
        given = torch.tensor([name in values for name in self.names], device=self.subsets.device)
        if not (self.subsets & given).any():
            known = ", ".join(
                name for name, used in zip(self.names, self.subsets.any(0).tolist(), strict=True) if used
            )
            raise ValueError(
                f"One of the modalities of the experts should be given ({known}). Found {', '.join(values)}."
            )
        together = bool(((self.subsets & given) == given).all(1).any())
        subsets = given[None] if together else torch.unique(self.subsets & given, dim=0)
        subsets = subsets[subsets.any(1)][:, given]
        mean, scale = self.posteriors(values)
        if observed is None:
            return Experts(*product_of_experts(mean, scale, subsets, prior=self.prior_expert))
        members, present = members_observed(subsets, observed)
        return Experts(*product_of_experts(mean, scale, members, prior=self.prior_expert), present)

    def forward(
        self,
        values: Mapping[str, Tensor],
        noise: Tensor,
        observed: Tensor | None = None,
        *,
        split: Split | None = None,
        split_densities: Split | None = None,
        decoders: Sequence[Decoders] | None = None,
        fixed_density: bool = True,
        micro_batch: int | None = None,
        watch: Callable[[Experts], Experts] | None = None,
    ) -> MixtureTerms:
        """All log-probabilities that the objectives need.

        Args:
            values: Rows of all modalities, as they are stored.
            noise: Standard normal numbers ``[A, K, B, L]``.
            observed: Which modalities the rows have, ``[B, D]``; None if all have all.
            split: Hands the samples to the decoders; here gradients of the likelihoods meet.
            split_densities: Hands the samples to the densities of the experts; here gradients of the experts meet.
            decoders: Every decoder as it is called for each expert; here gradients of a decoder's parameters meet.
            fixed_density: Whether the parameters of the densities get no gradients ("sticking the landing").
            micro_batch: Decode about this many rows at a time, which needs less memory; with gradients, once more in
                the backward pass. None for all at once.
            watch: Sees the experts before anything is done with them; gradients of one expert pass there.
        """
        prepared = self.prepare(values)
        experts = self.experts(prepared, observed)
        experts = experts if watch is None else watch(experts)
        z = experts.samples(noise)  # [A, K, B, L]
        views = self.views_of_samples(z, experts, observed, split)
        log_likelihood = self.likelihoods_at(prepared, views, observed, decoders=decoders, micro_batch=micro_batch)
        views = self.views_of_densities(z, experts, split_densities)
        densities = experts.detach() if fixed_density else experts
        return MixtureTerms(log_likelihood, log_densities(densities, views), log_normal(z, 0.0), experts)

    def views_of_samples(self, z: Tensor, experts: Experts, observed: Tensor | None, split: Split | None) -> Views:
        """A view of the samples for every decoder."""
        return (split or _copies)(z, len(self.names), _heads_of_rows(observed, experts.present))

    def views_of_densities(self, z: Tensor, experts: Experts, split: Split | None) -> Views:
        """A view of the samples for the density of every expert."""
        there = None if experts.present is None else experts.present.mT
        return (split or _copies)(z, self.n_experts, _heads_of_rows(there, experts.present))

    def likelihoods_at(
        self,
        prepared: Mapping[str, Tensor],
        views: Views,
        observed: Tensor | None = None,
        *,
        decoders: Sequence[Decoders] | None = None,
        micro_batch: int | None = None,
    ) -> Tensor:
        """log p(x_d | z_A) ``[A, K, B, D]`` of prepared rows, with a view of the samples for each decoder."""
        # a GPU likes one large call; on a CPU the numbers of one expert at a time stay in its cache
        n_calls = len(views[0]) if views[0].device.type == "cpu" else 1
        columns = []
        for d, (name, view) in enumerate(zip(self.names, views, strict=True)):
            calls = decoders[d] if decoders else [self.decoders[d]] * n_calls
            log_p = _log_likelihood(self.likelihood(name), calls, view, prepared[name], micro_batch)
            columns.append(log_p if observed is None else torch.where(observed[:, d], log_p, 0.0))
        return torch.stack(columns, -1)

    def decode(self, z: Tensor, name: str) -> Tensor:
        """The parameters of a modality's likelihood ``[..., *parameters]`` for samples ``[..., L]``."""
        parameters: Tensor = self.decoders[self.names.index(name)](z.reshape(-1, z.shape[-1]))
        return parameters.reshape(*z.shape[:-1], *parameters.shape[1:])

    def _posterior(self, output: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Mean and scale in full precision, from what an encoder gives."""
        if isinstance(output, Tensor):
            mean, raw = full_precision(output).chunk(2, -1)
            return mean, F.softplus(raw) + SMALLEST_SCALE
        mean, scale = output
        return full_precision(mean), full_precision(scale)


def log_densities(experts: Experts, views: Sequence[Tensor]) -> Tensor:
    """log q_A'(z_A | x) ``[A, A', K, B]``, with a view of the samples z for the density of each expert A'."""
    log_scale = experts.scale.log()
    parts = [log_normal(view, experts.mean[a], log_scale[a]) for a, view in enumerate(views)]
    return torch.stack(parts, 1)


def _log_likelihood(
    likelihood: Likelihood, calls: Decoders, view: Tensor, x: Tensor, micro_batch: int | None
) -> Tensor:
    """log p(x | z) ``[A, K, B]``: the samples of all experts in one call, or those of each in its own."""
    if len(calls) == 1:
        log_p = _decode_and_compare(likelihood, calls[0], view.flatten(0, 1), x, micro_batch)
        return log_p.unflatten(0, view.shape[:2])
    pairs = zip(calls, view.unbind(0), strict=True)
    return torch.stack([_decode_and_compare(likelihood, call, z, x, micro_batch) for call, z in pairs])


def _decode_and_compare(
    likelihood: Likelihood, decoder: Callable[[Tensor], Tensor], z: Tensor, x: Tensor, micro_batch: int | None
) -> Tensor:
    """log p(x | z) ``[S, B]`` for samples z ``[S, B, L]``."""

    def compare(part: Tensor) -> Tensor:
        parameters = decoder(part.flatten(0, 1)).unflatten(0, part.shape[:2])
        return log_prob(likelihood, parameters, x)

    if micro_batch is None:
        return compare(z)
    chunks = z.split(max(1, micro_batch // max(1, z.shape[1])))
    if not torch.is_grad_enabled():
        return torch.cat([compare(chunk) for chunk in chunks])
    return torch.cat([checkpoint(compare, chunk, use_reentrant=False) for chunk in chunks])


def _heads_of_rows(observed: Tensor | None, present: Tensor | None) -> Tensor | None:
    """Which heads ``[B, n]`` the samples of an expert have in a row, ``[A, 1, B, n]``: none if it is absent."""
    if observed is None or present is None:
        return None
    return (observed.unsqueeze(0) & present.unsqueeze(-1)).unsqueeze(1)


def _copies(z: Tensor, n: int, observed: Tensor | None = None) -> list[Tensor]:
    return [z] * n


def _channels_last(x: Tensor) -> Tensor:
    """Images as convolutions like them; decoders give theirs back in the same order."""
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


def _as_weights(x: Tensor, network: nn.Module) -> Tensor:
    """Inputs in the precision of the weights: data are often in double precision, or the model is."""
    weight = next(network.parameters(), x)
    return x.to(weight.dtype) if weight.is_floating_point() and x.is_floating_point() else x
