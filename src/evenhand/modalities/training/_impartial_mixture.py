"""A mixture-based VAE with its objective and its impartiality blocks: what is trained."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ...common import ArgumentError, log_normal, wanted_rate
from ...impartial import Method, scale_gradient
from ..models import Experts, MixtureTerms, MixtureVAE, log_densities
from ..networks import architecture_text
from ..objectives import (
    Weighing,
    comparable,
    contrastive,
    dynamic_prior,
    effective_experts,
    gaussian_kl,
    mixture_log_q,
    mixture_log_weights,
    mmjsd,
    with_unrelated,
)
from ._blocks import make_blocks
from ._options import Goal, Options
from ._selection import Selection, rows_at_once, select
from ._step import Step
from ._watch import Watch


class Given(NamedTuple):
    """What a step is told about a batch.

    Attributes:
        values: The modalities as they are stored.
        observed: Which of them a row has, ``[B, D]``; None for all.
        noise: Standard normal numbers ``[A, K, B, L]``.
        luck: As many for the choice of samples, ``[A, K, B, 1]``; none, ``[A, K, B, 0]``, where none are chosen.
        weight: Of the rate.
        progress: Number of training steps done.
        watch: Sees the experts before anything is done with them.
    """

    values: Mapping[str, Tensor]
    observed: Tensor | None
    noise: Tensor
    luck: Tensor
    weight: float | Tensor
    progress: Tensor | float
    watch: Watch


class Scored(NamedTuple):
    """The objective of every row ``[B]``, what it is a function of, and what samples count in it ``[A, K, B]``.

    Where there are no such weights, all samples count alike.
    """

    bound: Tensor
    terms: MixtureTerms
    weights: Tensor | None = None


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
    weights: Tensor  # [D]

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
        weights = self.options.likelihood_weights or (1.0,) * len(self.dimensions)
        if len(weights) != len(self.dimensions):
            expected = f"have a number for each of {len(self.dimensions)} modalities"
            raise ArgumentError("likelihood_weights", expected, repr(weights))
        self.register_buffer("weights", torch.tensor(weights), persistent=False)
        if not isinstance(impartial, Mapping | None):
            raise ArgumentError("impartial", 'be methods by goal, such as {"LI": CAGrad()}', repr(impartial))
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
        """The weight of the rate; 1, as in a bound of the evidence, outside of a training that holds a rate."""
        return 1.0 if self.target_rate else float(self.options.kl_weight)

    @property
    def target_rate(self) -> float | None:
        """The mean rate of the experts in nats that training holds, if any."""
        return wanted_rate(self.options.kl_weight)

    def noise(self, n_rows: int, generator: torch.Generator | None = None) -> Tensor:
        """Standard normal numbers for a batch, ``[A, K, B, L]``; one more column if samples are to be chosen."""
        n_latent = self.network.n_latent + (self.options.n_backward is not None)
        shape = (self.network.n_experts, self.options.n_samples, n_rows, n_latent)
        like = self.betas
        return torch.randn(shape, generator=generator, device=like.device, dtype=like.dtype)

    def forward(
        self,
        values: Mapping[str, Tensor],
        observed: Tensor | None = None,
        noise: Tensor | None = None,
        kl_weight: Tensor | None = None,
        progress: Tensor | float = 0.0,
        probe: Tensor | None = None,
        limit: float | None = None,
    ) -> Step:
        """The loss of a batch and what it is made of.

        Args:
            values: The modalities as they are stored.
            observed: Which of them a row has, ``[B, D]``; None for all.
            noise: What `noise` gives; drawn if None.
            kl_weight: In place of the model's own.
            progress: Number of training steps done.
            probe: Zeros ``[A]`` whose gradients will tell how long those of the experts are; see `Watch`.
            limit: The longest gradient of an expert and a row; None for any.
        """
        options = self.options
        n_rows = len(next(iter(values.values())))
        noise = self.noise(n_rows) if noise is None else noise
        weight = self.kl_weight if kl_weight is None else kl_weight
        if options.objective == "contrastive":
            ordered = {name: values[name] for name in self.names}
            values, observed, noise = with_unrelated(ordered, observed, noise, options.n_negatives)
        latent, luck = noise.tensor_split([self.network.n_latent], -1)
        score = self._in_two_passes if options.two_passes and torch.is_grad_enabled() else self._in_one_pass
        watch = Watch(probe, limit, n_rows)
        bound, terms, weights = score(Given(values, observed, latent, luck, weight, progress, watch))
        value = bound[:n_rows]
        if options.objective == "contrastive":
            unrelated = bound[n_rows:].unflatten(0, (len(self.names), -1, n_rows))
            value = contrastive(value, unrelated, options.contrast, comparable(observed, n_rows))
        return self._step(-value.mean() + watch.told, terms, observed, n_rows, weights)

    def score(self, reconstruction: Tensor) -> float:
        """How well rows were reconstructed: the mean log-likelihoods ``[D]``, each divided by its dimension."""
        return float(sum(x / d for x, d in zip(reconstruction.tolist(), self.dimensions, strict=True)))

    def settings(self) -> dict[str, str]:
        """What must be the same for a training to be resumed."""
        network = self.network
        about = {name: str(likelihood) for name, likelihood in zip(self.names, network.likelihoods, strict=True)}
        about |= {"n_latent": str(network.n_latent), "prior_expert": str(network.prior_expert)}
        about |= {"experts": ", ".join(self.expert_names), **self.options.settings()}
        about |= {"impartial": str(self.blocks)}
        for what, networks in (("encoder", network.encoders), ("decoder", network.decoders)):
            parts = zip(self.names, networks, strict=True)
            about |= {f"The {what} of {name!r}": architecture_text(part) for name, part in parts}
        return about

    # the objective of every row

    def _in_one_pass(self, given: Given) -> Scored:
        """All samples are decoded once, with gradients that meet in the blocks."""
        options = self.options
        terms: MixtureTerms = self.network(
            given.values,
            given.noise,
            given.observed,
            split=self._splitter("LI"),
            split_densities=self._splitter("EEI"),
            decoders=self._decoders(),
            fixed_density=options.gradient != "plain",
            micro_batch=options.micro_batch if torch.is_grad_enabled() else None,
            watch=given.watch,
        )
        log_likelihood, present = self._locally(terms.log_likelihood), terms.experts.present
        if options.objective == "mmjsd":
            return Scored(mmjsd(log_likelihood, self._divergences(terms), present, given.weight), terms)
        weighing = self._weigh(terms, log_likelihood, given)
        return Scored(weighing.bound, terms, weighing.decoders)

    def _in_two_passes(self, given: Given) -> Scored:
        """The same, but all samples are decoded without gradients first, to know what they count.

        The gradient of every bound is that of a sum over samples with constant weights. So samples without weight
        need no gradients; and where encoders have weights of their own, these are known beforehand.
        """
        options, network, observed = self.options, self.network, given.observed
        prepared = network.prepare(given.values)
        experts = given.watch(network.experts(prepared, observed))
        z = experts.samples(given.noise)
        with torch.no_grad():
            terms = self._without_gradients(prepared, experts, z.detach(), observed)
            weighing = self._weigh(terms, self._locally(terms.log_likelihood), given)
            chosen = self._choose(weighing, given)
            factor = self._for_encoders(weighing, given.weight).unsqueeze(-1)

        def weigh(view: Tensor) -> Tensor:  # every view, so that what meets in a block is weighed already
            return scale_gradient(view, factor) if options.weighs_encoders else view

        views = network.views_of_samples(z, experts, observed, self._splitter("LI"))
        log_likelihood = network.likelihoods_at(
            prepared,
            [chosen.take(weigh(view)) for view in views],
            observed,
            decoders=self._decoders(),
            micro_batch=options.micro_batch,
        )
        densities = experts.detach() if options.gradient != "plain" else experts
        views = network.views_of_densities(z, experts, self._splitter("EEI"))
        log_q = log_densities(densities, [weigh(view) for view in views])
        of_densities = MixtureTerms(terms.log_likelihood, log_q, log_normal(weigh(z), 0.0), experts)
        rest = self._log_weights(of_densities, torch.zeros_like(terms.log_likelihood), given.weight)
        sums = (weighing.decoders * rest).sum((0, 1))
        sums = sums + (chosen.weights * self._locally(log_likelihood).sum(-1)).sum((0, 1))
        # the value of the bound, with the gradient of the sum
        return Scored(weighing.bound + sums - sums.detach(), terms, weighing.decoders)

    def _without_gradients(
        self, prepared: Mapping[str, Tensor], experts: Experts, z: Tensor, observed: Tensor | None
    ) -> MixtureTerms:
        """What all samples are weighed by, in parts that need less memory than the pass with gradients."""
        network, rows = self.network, rows_at_once(z.device, self.options)
        log_likelihood = network.likelihoods_at(prepared, [z] * len(self.names), observed, micro_batch=rows)
        log_q = log_densities(experts, [z] * network.n_experts)
        return MixtureTerms(log_likelihood, log_q, log_normal(z, 0.0), experts)

    def _choose(self, weighing: Weighing, given: Given) -> Selection:
        number = self.options.n_backward
        if number is None:
            return Selection(None, weighing.decoders)
        return select(weighing.decoders, number, torch.special.ndtr(given.luck[:, 0, :, 0]))

    def _weigh(self, terms: MixtureTerms, log_likelihood: Tensor, given: Given) -> Weighing:
        log_weights = self._log_weights(terms, log_likelihood, given.weight)
        return self.options.rule.weigh(log_weights, terms.experts.present, given.progress)

    def _log_weights(self, terms: MixtureTerms, log_likelihood: Tensor, weight: float | Tensor) -> Tensor:
        present, rule = terms.experts.present, self.options.rule
        return mixture_log_weights(log_likelihood, terms.log_q, terms.log_prior, present, weight, rule)

    def _for_encoders(self, weighing: Weighing, weight: float | Tensor) -> Tensor:
        """What gradients at the samples are multiplied by, ``[A, K, B]``."""
        plain = torch.ones_like(weighing.doubly) if weighing.encoders is None else weighing.encoders
        if self.options.gradient != "dreg":
            return plain
        # with weight 1 the squared weights; what a KL weight takes from log q it also takes from its score
        return (1 - weight) * plain + weight * weighing.doubly

    def _splitter(self, goal: Goal) -> Callable[[Tensor, int, Tensor | None], Sequence[Tensor]] | None:
        # the experts of "mmjsd" meet at its dynamic prior instead
        if goal not in self.blocks or (goal == "EEI" and self.options.objective == "mmjsd"):
            return None
        block = self.blocks[goal]
        return lambda z, n, observed: block(z, n, observed=observed)

    def _decoders(self) -> list[Any] | None:
        if "DEI" not in self.blocks:
            return None
        shared: Any = self.blocks["DEI"]
        return [block(self.network.n_experts) for block in shared]

    def _locally(self, log_likelihood: Tensor) -> Tensor:
        if self.options.likelihood_weights:
            log_likelihood = log_likelihood * self.weights
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

    def _step(
        self, loss: Tensor, terms: MixtureTerms, observed: Tensor | None, n_rows: int, weights: Tensor | None
    ) -> Step:
        """The loss, and what a history shows of the rows without the changed ones."""
        with torch.no_grad():
            experts, log_likelihood = terms.experts, terms.log_likelihood[:, :, :n_rows]
            log_p = log_likelihood.mean(1)  # [A, B, D]
            log_q = mixture_log_q(terms.log_q, experts.present)[:, :, :n_rows].mean(1)
            present = (
                torch.ones_like(log_q) if experts.present is None else experts.present[:, :n_rows].to(log_q.dtype)
            )
            there = present.unsqueeze(-1).expand_as(log_p)
            there = there if observed is None else there * observed[:n_rows]
            if weights is None:
                n_samples = log_likelihood.shape[1]
                weights = (experts.shares() / n_samples).unsqueeze(1).expand(-1, n_samples, -1)
            weights = weights[:, :, :n_rows]
            shares, weighed = weights.sum(1), (weights.unsqueeze(-1) * log_likelihood).sum((0, 1))  # [A, B], [B, D]
            have = torch.ones_like(weighed) if observed is None else observed[:n_rows].to(weighed.dtype)
            return Step(
                loss=loss,
                bound=-loss.detach(),
                log_likelihood=_mean(log_p, there, (0, 1)),
                rate=_mean(experts.rate()[:, :n_rows], present, (1,)),
                log_q=_mean(log_q, present, (0, 1)),
                share=_mean(shares, present, (1,)),
                effective_experts=effective_experts(shares).mean(),
                log_likelihood_from=_mean(log_p, there, (1,)),
                reconstruction=_mean(weighed, have, (0,)),
                n_likelihood=there.sum((0, 1)),
                n_rate=present.sum(1),
                n_log_q=present.sum(),
                n_likelihood_from=there.sum(1),
                n_reconstruction=have.sum(0),
            )


def _mean(values: Tensor, there: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The mean over what is there; 0 where nothing is. What is not there is finite."""
    return (values * there).sum(axes) / there.sum(axes).clamp(min=1)
