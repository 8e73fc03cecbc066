"""A mixture-based VAE with its objective and its impartiality blocks: what is trained."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...impartial import Method, scale_gradient
from ..models import MixtureTerms, MixtureVAE
from ..objectives import (
    Bound,
    comparable,
    contrastive,
    dynamic_prior,
    gaussian_kl,
    mixture_bound,
    mixture_log_q,
    mixture_log_weights,
    mixture_shares,
    mmjsd,
    with_unrelated,
)
from ._blocks import make_blocks
from ._late_weights import LateWeights
from ._options import Goal, Options
from ._step import Step


class ImpartialMixture(nn.Module):
    r"""The network, what is maximised, and where gradients are settled on their way back.

    The blocks of section 4.2 of the paper, :math:`2|\mathcal A| + D` of them:

    - ``LI``, likelihood impartiality: at the samples of every expert, the gradients of the D decoders.
    - ``EEI``, encoder expert-impartiality: there too, those of the :math:`|\mathcal A|` densities.
    - ``DEI``, decoder expert-impartiality: at the parameters of every decoder, those of the experts.

    Args:
        network: The model.
        dimensions: How many numbers an item of each modality has; the local step makes up for differences.
        options: What is maximised, and how its gradients are taken.
        impartial: A method for each goal, "LI", "EEI" or "DEI"; goals that are left out stay plain.
    """

    betas: Tensor  # [D]

    def __init__(
        self,
        network: MixtureVAE,
        dimensions: Sequence[int],
        options: Options | None = None,
        impartial: Mapping[Goal, Method] | None = None,
    ) -> None:
        super().__init__()
        self.options = Options() if options is None else options
        if self.options.objective == "mmjsd" and not bool((network.subsets.sum(1) == 1).all()):
            raise ValueError("experts should be 'mixture' with objective='mmjsd', which compares single modalities.")
        self.network = network
        self.dimensions = list(dimensions)
        self.register_buffer("betas", torch.tensor([max(dimensions) / d for d in dimensions]), persistent=False)
        self.blocks = make_blocks(network, impartial or {}, self.options)

    def with_methods(self, impartial: Mapping[Goal, Method]) -> ImpartialMixture:
        """A copy of the model with the same options and other methods in its blocks."""
        copied = ImpartialMixture(copy.deepcopy(self.network), self.dimensions, self.options, impartial)
        return copied.to(self.betas.device, self.betas.dtype)

    @property
    def names(self) -> list[str]:
        """The modalities."""
        return self.network.names

    @property
    def expert_names(self) -> list[str]:
        """The experts, by their modalities."""
        members = self.network.subsets.tolist()
        return ["+".join(name for name, there in zip(self.names, row, strict=True) if there) for row in members]

    @property
    def kl_weight(self) -> float:
        """The weight of the rate."""
        return self.options.kl_weight

    def noise(self, n_rows: int, generator: torch.Generator | None = None) -> Tensor:
        """Standard normal numbers for a batch, ``[A, K, B, L]``."""
        shape = (self.network.n_experts, self.options.n_samples, n_rows, self.network.n_latent)
        like = self.betas
        return torch.randn(shape, generator=generator, device=like.device, dtype=like.dtype)

    def forward(
        self,
        values: Mapping[str, Tensor],
        observed: Tensor | None = None,
        noise: Tensor | None = None,
        kl_weight: Tensor | None = None,
    ) -> Step:
        """The loss of a batch and what it is made of.

        Args:
            values: The modalities as they are stored.
            observed: Which of them a row has, ``[B, D]``; None for all.
            noise: What `noise` gives; drawn if None.
            kl_weight: In place of the model's own.
        """
        options = self.options
        n_rows = len(next(iter(values.values())))
        noise = self.noise(n_rows) if noise is None else noise
        if options.objective == "contrastive":
            ordered = {name: values[name] for name in self.names}
            values, observed, noise = with_unrelated(ordered, observed, noise, options.n_negatives)
        late = LateWeights(noise) if options.gradient == "dreg" else None
        terms = self._terms(values, observed, noise, late)
        bound = self._bound(terms, self.kl_weight if kl_weight is None else kl_weight, late)
        value = bound[:n_rows]
        if options.objective == "contrastive":
            unrelated = bound[n_rows:].unflatten(0, (len(self.names), -1, n_rows))
            value = contrastive(value, unrelated, options.contrast, comparable(observed, n_rows))
        return self._step(-value.mean(), terms, observed, n_rows)

    def score(self, log_likelihood: Tensor) -> float:
        """How well rows were reconstructed: the mean log-likelihoods ``[D]``, each divided by its dimension."""
        return float(sum(x / d for x, d in zip(log_likelihood.tolist(), self.dimensions, strict=True)))

    def settings(self) -> dict[str, str]:
        """What must be the same for a training to be resumed."""
        network = self.network
        about = self.options.settings()
        about |= {name: str(likelihood) for name, likelihood in zip(self.names, network.likelihoods, strict=True)}
        about |= {"n_latent": str(network.n_latent), "prior_expert": str(network.prior_expert)}
        return about | {"experts": ", ".join(self.expert_names), "impartial": str(self.blocks)}

    # what the objectives are functions of

    def _terms(
        self, values: Mapping[str, Tensor], observed: Tensor | None, noise: Tensor, late: LateWeights | None
    ) -> MixtureTerms:
        """The log-probabilities, with gradients that meet in the blocks."""
        options = self.options
        decoders = None
        if "DEI" in self.blocks:
            shared: Any = self.blocks["DEI"]
            decoders = [block(self.network.n_experts) for block in shared]
        terms: MixtureTerms = self.network(
            values,
            noise,
            observed,
            split=_split(self.blocks["LI"]) if "LI" in self.blocks else None,
            # the experts of "mmjsd" meet at its dynamic prior instead
            split_densities=_split(self.blocks["EEI"])
            if "EEI" in self.blocks and options.objective != "mmjsd"
            else None,
            decoders=decoders,
            weigh=None if late is None else late.apply,
            fixed_density=options.gradient != "plain",
            micro_batch=options.micro_batch if torch.is_grad_enabled() else None,
        )
        return terms

    def _bound(self, terms: MixtureTerms, weight: float | Tensor, late: LateWeights | None) -> Tensor:
        """The objective for every row, from log-likelihoods after the local step."""
        log_likelihood, present = self._locally(terms.log_likelihood), terms.experts.present
        objective = self.options.objective
        if objective == "mmjsd":
            return mmjsd(log_likelihood, self._divergences(terms), present, weight)
        name: Bound = "iwae" if objective == "contrastive" else objective
        log_weights = mixture_log_weights(log_likelihood, terms.log_q, terms.log_prior, present, weight)
        if late is not None:
            # with weight 1 the shares; what a KL weight takes from log q it also takes from its score
            late.settle(1 - weight + weight * mixture_shares(name, log_weights, present))
        return mixture_bound(name, log_weights, present)

    def _locally(self, log_likelihood: Tensor) -> Tensor:
        if self.options.local_step == "backward":
            return scale_gradient(log_likelihood, self.betas)
        return log_likelihood * self.betas if self.options.local_step == "forward" else log_likelihood

    def _divergences(self, terms: MixtureTerms) -> Tensor:
        """KL(q_d || f) and KL(p || f), ``[D + 1, B]``; gradients of the experts meet at the dynamic prior f."""
        experts = terms.experts
        f = torch.cat(dynamic_prior(experts.mean, experts.scale, experts.present), -1)  # [B, 2 L]
        n = len(experts.mean)
        views = self.blocks["EEI"](f, n + 1) if "EEI" in self.blocks else [f] * (n + 1)
        standard = (torch.zeros_like(experts.mean[0]), torch.ones_like(experts.scale[0]))
        pairs = [*zip(experts.mean, experts.scale, strict=True), standard]
        return torch.stack([gaussian_kl(*q, *view.chunk(2, -1)) for q, view in zip(pairs, views, strict=True)])

    def _step(self, loss: Tensor, terms: MixtureTerms, observed: Tensor | None, n_rows: int) -> Step:
        """The loss, and what a history shows of the rows without the changed ones."""
        with torch.no_grad():
            experts, log_p = terms.experts, terms.log_likelihood[:, :, :n_rows].mean(1)  # [A, B, D]
            log_q = mixture_log_q(terms.log_q, experts.present)[:, :, :n_rows].mean(1)
            present = (
                torch.ones_like(log_q) if experts.present is None else experts.present[:, :n_rows].to(log_q.dtype)
            )
            there = present.unsqueeze(-1).expand_as(log_p)
            there = there if observed is None else there * observed[:n_rows]
            return Step(
                loss=loss,
                bound=-loss.detach(),
                log_likelihood=_mean(log_p, there, (0, 1)),
                rate=_mean(experts.rate()[:, :n_rows], present, (1,)),
                log_q=_mean(log_q, present, (0, 1)),
                n_likelihood=there.sum((0, 1)),
                n_rate=present.sum(1),
            )


def _mean(values: Tensor, there: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The mean over what is there; 0 where nothing is. What is not there is finite."""
    return (values * there).sum(axes) / there.sum(axes).clamp(min=1)


def _split(block: nn.Module) -> Callable[[Tensor, int, Tensor | None], Sequence[Tensor]]:
    return lambda z, n, observed: block(z, n, observed=observed)
