"""A mixture-based VAE with its objective and its impartiality blocks: what is trained."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from ...impartial import Block, Method, ParameterBlock, scale_gradient
from ..models import MixtureTerms, MixtureVAE
from ..objectives import (
    contrastive,
    dynamic_prior,
    gaussian_kl,
    mixture_bound,
    mixture_log_q,
    mixture_log_weights,
    mixture_shares,
    mmjsd,
)
from ._loop import Step

Objective = Literal["elbo", "iwae", "siwae", "mmjsd", "contrastive"]
GradientOf = Literal["stl", "dreg", "plain"]
LocalStep = Literal["backward", "forward", "none"]
Goal = Literal["LI", "EEI", "DEI"]


class ImpartialMixture(nn.Module):
    r"""The network, what is maximised, and where gradients are settled on their way back.

    The blocks of section 4.2 of the paper, :math:`2|\mathcal A| + D` of them:

    - ``LI``, likelihood impartiality: at the samples of every expert, the gradients of the D decoders.
    - ``EEI``, encoder expert-impartiality: there too, those of the :math:`|\mathcal A|` densities.
    - ``DEI``, decoder expert-impartiality: at the parameters of every decoder, those of the experts.

    Args:
        network: The model.
        dimensions: How many numbers an item of each modality has; the local step makes up for differences.
        objective: "elbo", "iwae" (loose), "siwae" (tight), "mmjsd" or "contrastive".
        n_samples: K, samples of every expert.
        gradient: "stl" (densities as constants, as in the paper), "dreg" (doubly reparametrised) or "plain".
        impartial: A method for each goal, "LI", "EEI" or "DEI"; goals that are left out stay plain.
        preserve_norm: Whether blocks keep the length of the plain sum.
        local_step: Where a likelihood is multiplied by the largest dimension over its own: in the "backward" pass
            (the paper), "forward" (its code; a baseline that changes the reported bound), or "none".
        kl_weight: Weight of the rate.
        micro_batch: Decode about this many rows at a time, in less memory.
        n_negatives: For the contrastive objective, how many other rows a row is compared with.
        contrast: For the contrastive objective, the weight gamma of the evidence.
    """

    betas: Tensor  # [D]

    def __init__(
        self,
        network: MixtureVAE,
        *,
        dimensions: Sequence[int],
        objective: Objective = "iwae",
        n_samples: int = 10,
        gradient: GradientOf = "stl",
        impartial: Mapping[Goal, Method] | None = None,
        preserve_norm: bool = True,
        local_step: LocalStep = "backward",
        kl_weight: float = 1.0,
        micro_batch: int | None = None,
        n_negatives: int = 5,
        contrast: float = 2.0,
    ) -> None:
        super().__init__()
        _check_choice("objective", objective, get_args(Objective))
        _check_choice("gradient", gradient, get_args(GradientOf))
        _check_choice("local_step", local_step, get_args(LocalStep))
        _check_number("n_samples", n_samples, 1)
        _check_number("n_negatives", n_negatives, 1)
        if micro_batch is not None:
            _check_number("micro_batch", micro_batch, 1)
        if not kl_weight >= 0:
            raise ValueError(f"kl_weight should be a number >= 0. Found {kl_weight!r}.")
        _check_objective(objective, gradient, network)
        self.network = network
        self.objective, self.gradient, self.local_step = objective, gradient, local_step
        self.n_samples, self.micro_batch = n_samples, micro_batch
        self.n_negatives, self.contrast = n_negatives, contrast
        self.kl_weight = kl_weight
        self.dimensions = list(dimensions)
        self.register_buffer("betas", torch.tensor([max(dimensions) / d for d in dimensions]), persistent=False)
        self.blocks = _blocks(network, dict(impartial or {}), preserve_norm, objective)

    @property
    def names(self) -> list[str]:
        """The modalities."""
        return self.network.names

    @property
    def expert_names(self) -> list[str]:
        """The experts, by their modalities."""
        members = self.network.subsets.tolist()
        return ["+".join(name for name, there in zip(self.names, row, strict=True) if there) for row in members]

    def noise(self, n_rows: int, generator: torch.Generator | None = None) -> Tensor:
        """Standard normal numbers for a batch, ``[A, K, B, L]``."""
        shape = (self.network.n_experts, self.n_samples, n_rows, self.network.n_latent)
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
        weight = self.kl_weight if kl_weight is None else kl_weight
        n_rows = len(next(iter(values.values())))
        noise = self.noise(n_rows) if noise is None else noise
        if self.objective == "contrastive":
            values, observed, noise = self._with_unrelated(values, observed, noise)
        terms, late = self._terms(values, observed, noise)
        bound = self._bound(terms, weight, late)
        value = bound[:n_rows]
        if self.objective == "contrastive":
            unrelated = bound[n_rows:].unflatten(0, (len(self.names), -1, n_rows))
            value = contrastive(value, unrelated, self.contrast, self._comparable(observed, n_rows))
        return self._step(-value.mean(), terms, observed, n_rows)

    def score(self, log_likelihood: Tensor) -> float:
        """How well rows were reconstructed: the mean log-likelihoods ``[D]``, each divided by its dimension."""
        return float(sum(x / d for x, d in zip(log_likelihood.tolist(), self.dimensions, strict=True)))

    def settings(self) -> dict[str, str]:
        """What must be the same for a training to be resumed."""
        names = ("objective", "n_samples", "gradient", "local_step", "kl_weight", "n_negatives", "contrast")
        about = {name: str(getattr(self, name)) for name in names}
        network = self.network
        about |= {name: str(likelihood) for name, likelihood in zip(self.names, network.likelihoods, strict=True)}
        about |= {"n_latent": str(network.n_latent), "prior_expert": str(network.prior_expert)}
        return about | {"experts": ", ".join(self.expert_names), "impartial": str(self.blocks)}

    # what the objectives are functions of

    def _terms(
        self, values: Mapping[str, Tensor], observed: Tensor | None, noise: Tensor
    ) -> tuple[MixtureTerms, Tensor | None]:
        """The log-probabilities, with gradients that meet in the blocks; and weights to be filled in for DReG."""
        # how much a sample counts is known only when all have been decoded: later numbers go into this tensor
        late = noise.new_ones(*noise.shape[:-1], 1) if self.gradient == "dreg" else None
        split = _split(self.blocks["LI"]) if "LI" in self.blocks else None
        densities = _split(self.blocks["EEI"]) if "EEI" in self.blocks and self.objective != "mmjsd" else None
        decoders = None
        if "DEI" in self.blocks:
            shared: Any = self.blocks["DEI"]
            decoders = [block(self.network.n_experts) for block in shared]
        terms = self.network(
            values,
            noise,
            observed,
            split=split,
            split_densities=densities,
            decoders=decoders,
            weigh=None if late is None else lambda view: scale_gradient(view, late),
            fixed_density=self.gradient != "plain",
            micro_batch=self.micro_batch if torch.is_grad_enabled() else None,
        )
        return terms, late

    def _bound(self, terms: MixtureTerms, weight: float | Tensor, late: Tensor | None) -> Tensor:
        """The objective for every row, from log-likelihoods after the local step."""
        log_likelihood, present = self._locally(terms.log_likelihood), terms.experts.present
        if self.objective == "mmjsd":
            return mmjsd(log_likelihood, self._divergences(terms), present, weight)
        name = "iwae" if self.objective == "contrastive" else self.objective
        log_weights = mixture_log_weights(log_likelihood, terms.log_q, terms.log_prior, present, weight)
        if late is not None:
            # with weight 1 the shares; what a KL weight takes from log q it also takes from its score
            late.copy_((1 - weight + weight * mixture_shares(name, log_weights, present)).unsqueeze(-1))
        return mixture_bound(name, log_weights, present)

    def _locally(self, log_likelihood: Tensor) -> Tensor:
        if self.local_step == "backward":
            return scale_gradient(log_likelihood, self.betas)
        return log_likelihood * self.betas if self.local_step == "forward" else log_likelihood

    def _divergences(self, terms: MixtureTerms) -> Tensor:
        """KL(q_d || f) and KL(p || f), ``[D + 1, B]``; gradients of the experts meet at the dynamic prior f."""
        experts = terms.experts
        f = torch.cat(dynamic_prior(experts.mean, experts.scale, experts.present), -1)  # [B, 2 L]
        n = len(experts.mean)
        views = self.blocks["EEI"](f, n + 1) if "EEI" in self.blocks else [f] * (n + 1)
        standard = (torch.zeros_like(experts.mean[0]), torch.ones_like(experts.scale[0]))
        pairs = [*zip(experts.mean, experts.scale, strict=True), standard]
        return torch.stack([gaussian_kl(*q, *view.chunk(2, -1)) for q, view in zip(pairs, views, strict=True)])

    def _with_unrelated(
        self, values: Mapping[str, Tensor], observed: Tensor | None, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor | None, Tensor]:
        """The batch, and for every modality copies of it with that modality taken from other rows."""
        n_rows = noise.shape[2]
        shifts = [1 + j % max(1, n_rows - 1) for j in range(self.n_negatives)]
        copies = 1 + len(self.names) * len(shifts)
        rows = torch.arange(n_rows, device=noise.device)
        more: dict[str, Tensor] = {}
        masks: list[Tensor] = []
        for d, name in enumerate(self.names):
            parts = [rows] + [rows.roll(s) if d == e else rows for e in range(len(self.names)) for s in shifts]
            index = torch.cat(parts)
            more[name] = values[name][index]
            if observed is not None:
                masks.append(observed[index, d])
        mask = None if observed is None else torch.stack(masks, -1)
        return more, mask, noise.repeat(1, 1, copies, 1)

    def _comparable(self, observed: Tensor | None, n_rows: int) -> Tensor | None:
        """Which changed rows have the modalities of the row itself, ``[D, N, B]``; None for all."""
        if observed is None:
            return None
        changed = observed[n_rows:].unflatten(0, (len(self.names), -1, n_rows))
        return (changed == observed[:n_rows]).all(-1)

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


def _blocks(
    network: MixtureVAE, impartial: dict[Goal, Method], preserve_norm: bool, objective: Objective
) -> nn.ModuleDict:
    blocks = nn.ModuleDict()
    for goal, method in impartial.items():
        _check_choice("The goals of impartial", goal, get_args(Goal))
        if not isinstance(method, Method):
            raise ValueError(f"impartial[{goal!r}] should be a method such as IMTLG(). Found {method!r}.")
        if goal in ("EEI", "DEI") and network.n_experts == 1:
            continue  # a single expert has nobody to settle with
        # a method may learn, so every place has its own; that of LI and EEI learns for each expert
        if goal == "DEI":
            copies = [ParameterBlock(d, copy.deepcopy(method), preserve_norm=preserve_norm) for d in network.decoders]
            blocks[goal] = nn.ModuleList(copies)
        else:
            axes = 0 if goal == "EEI" and objective == "mmjsd" else 1  # there is one dynamic prior
            blocks[goal] = Block(copy.deepcopy(method), preserve_norm=preserve_norm, problem_axes=axes)
    return blocks


def _split(block: nn.Module) -> Callable[[Tensor, int, Tensor | None], Sequence[Tensor]]:
    return lambda z, n, observed: block(z, n, observed=observed)


def _check_objective(objective: Objective, gradient: GradientOf, network: MixtureVAE) -> None:
    if objective != "mmjsd":
        return
    if not bool((network.subsets.sum(1) == 1).all()):
        raise ValueError("experts should be 'mixture' with objective='mmjsd', which compares single modalities.")
    if gradient == "dreg":
        raise ValueError(
            "gradient should be 'stl' or 'plain' with objective='mmjsd', which has no importance weights."
        )


def _check_choice(name: str, found: object, choices: Sequence[str]) -> None:
    if found not in choices:
        raise ValueError(f"{name} should be one of {', '.join(map(repr, choices))}. Found {found!r}.")


def _check_number(name: str, found: object, least: int) -> None:
    if isinstance(found, bool) or not isinstance(found, int) or found < least:
        raise ValueError(f"{name} should be an integer >= {least}. Found {found!r}.")
