"""Between the loose and the tight bound: how much of the weight the winning expert may take.

The tight bound has one softmax over the samples of all experts. Whoever explains rows best at first takes all the
weight, and the encoders of the others get no gradient ever after. These rules keep them alive.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ...common import check_integer, check_number

BISECTIONS = 16  # of the logarithm of a temperature: it is found to one part in 500
COLDEST = 1e-4  # the lowest temperature; the bound there is the ELBO for all that single precision can tell
LEAST_SHARE = 1e-3  # of the loose weights that decoders keep, so that encoders can be given theirs


class Weighing(NamedTuple):
    """A bound, and how much the samples count on the way to the encoders.

    Attributes:
        bound: For every row, ``[B]``; its gradient in the log-weights is what decoders get.
        encoders: What gradients at the samples are multiplied by on their way to the encoders, ``[A, K, B]``; None
            for 1.
    """

    bound: Tensor
    encoders: Tensor | None = None


class Tightness(ABC):
    """What the samples of different experts count against each other."""

    @abstractmethod
    def weigh(self, log_weights: Tensor, present: Tensor | None, progress: Tensor | float) -> Weighing:
        """A lower bound of log p(x) from stratified samples.

        Args:
            log_weights: log p(x, z) - log q(z | x), ``[A, K, B]``.
            present: Which experts a row has, ``[A, B]``; None for all.
            progress: Number of training steps done.
        """

    def log_q(self, log_q: Tensor, log_prior: Tensor) -> Tensor:
        """The log-density that samples are weighed by, in place of that of the mixture."""
        return log_q


@dataclass(frozen=True)
class Tight(Tightness):
    """The stratified bound itself (SIWAE, equation 8 of the paper): the winner takes it all."""

    def weigh(self, log_weights: Tensor, present: Tensor | None, progress: Tensor | float) -> Weighing:
        """The tight bound."""
        return Weighing(tempered_bound(log_weights, 1.0, present))


@dataclass(frozen=True)
class Tempered(Tightness):
    r"""A fixed temperature, :math:`\frac{1}{t} \log \frac{1}{|A| K} \sum_{A,k} (w_k^A)^t`.

    At t = 1 it is SIWAE, at t near 0 the ELBO; it is a lower bound of the evidence for all t between, and rises
    with t. Samples count by softmax(t log w). Daudel et al., arXiv 2210.06226, carried to strata.

    Args:
        temperature: t, above 0 and up to 1.
    """

    temperature: float

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, 0, 1, above=True)

    def weigh(self, log_weights: Tensor, present: Tensor | None, progress: Tensor | float) -> Weighing:
        """The tempered bound."""
        return Weighing(tempered_bound(log_weights, self.temperature, present))


@dataclass(frozen=True)
class Balanced(Tightness):
    r"""The tempered bound at the highest temperature at which no few experts take all the weight.

    For every row t is the largest one, up to 1, with an effective number of experts
    :math:`1 / \sum_A W_A^2 \ge r |A|`, where :math:`W_A` is the share of an expert's samples in softmax(t log w).

    Args:
        floor: r, the share of the experts that should count.
    """

    floor: float = 0.6

    def __post_init__(self) -> None:
        check_number("floor", self.floor, 0, 1, above=True, below=True)

    def weigh(self, log_weights: Tensor, present: Tensor | None, progress: Tensor | float) -> Weighing:
        """The tempered bound, with a temperature for every row."""
        temperature = balanced_temperature(log_weights.detach(), self.floor, present)
        return Weighing(tempered_bound(log_weights, temperature, present))


@dataclass(frozen=True)
class PartlyTight(Tightness):
    """Decoders get the tight weights, encoders those among the samples of their own expert.

    Rainforth et al., "Tighter variational bounds are not necessarily better", ICML 2018 (PIWAE), carried to strata.
    Decoders keep a thousandth of the loose weights, because gradients of the encoders pass through them.
    """

    def weigh(self, log_weights: Tensor, present: Tensor | None, progress: Tensor | float) -> Weighing:
        """Nearly the tight bound, and how much more an encoder gets than the tight weights would give it."""
        tight, loose = tempered_bound(log_weights, 1.0, present), _loose(log_weights, present)
        shares = expert_shares(log_weights.detach(), 1.0, present)  # [A, B]
        n = _n_experts(shares, present)
        ratio = 1 / ((1 - LEAST_SHARE) * n * shares + LEAST_SHARE)
        bound = (1 - LEAST_SHARE) * tight + LEAST_SHARE * loose
        return Weighing(bound, ratio.unsqueeze(1).expand_as(log_weights))


@dataclass(frozen=True)
class LooseToTight(Tightness):
    """From the loose bound to the tight one, so that nobody is judged before it has learnt.

    The bound is (1 - l) IWAE + l SIWAE with l from 0 to 1 along a line.

    Args:
        steps: Training steps after which the bound is the tight one.
    """

    steps: int = 2000

    def __post_init__(self) -> None:
        check_integer("steps", self.steps)

    def weigh(self, log_weights: Tensor, present: Tensor | None, progress: Tensor | float) -> Weighing:
        """The bound between."""
        done = torch.as_tensor(progress, dtype=log_weights.dtype, device=log_weights.device)
        share = (done / self.steps).clamp(max=1.0)
        tight = tempered_bound(log_weights, 1.0, present)
        return Weighing((1 - share) * _loose(log_weights, present) + share * tight)


@dataclass(frozen=True)
class Defensive(Tightness):
    r"""The tight bound with a share of the prior in the density of the mixture, :math:`(1 - e) q + e p`.

    No weight can then exceed p(x|z) / e: it stops samples far from all experts from taking over, and revives nobody.
    The bound is lower than SIWAE's by at most -log(1 - e) where the prior is nothing against q.

    Args:
        share: e, above 0 and below 1.
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        check_number("share", self.share, 0, 1, above=True, below=True)

    def weigh(self, log_weights: Tensor, present: Tensor | None, progress: Tensor | float) -> Weighing:
        """The tight bound of weights with the heavier density, made a bound again."""
        return Weighing(tempered_bound(log_weights, 1.0, present) + math.log1p(-self.share))

    def log_q(self, log_q: Tensor, log_prior: Tensor) -> Tensor:
        """With the prior mixed in."""
        return torch.logaddexp(log_q + math.log1p(-self.share), log_prior + math.log(self.share))


# ---------------------------------------------------------------- functions of log-weights


def tempered_bound(log_weights: Tensor, temperature: Tensor | float, present: Tensor | None = None) -> Tensor:
    """(1 / t) log of the mean of w^t over experts and samples, ``[B]``; t is a number or ``[B]``."""
    n_samples = log_weights.shape[1]
    number = math.log(len(log_weights)) if present is None else present.sum(0).log()
    total = (_there(log_weights, present) * temperature).flatten(0, 1).logsumexp(0)
    return (total - math.log(n_samples) - number) / temperature


def expert_shares(log_weights: Tensor, temperature: Tensor | float = 1.0, present: Tensor | None = None) -> Tensor:
    """The share of every expert's samples in softmax(t log w), ``[A, B]``; 0 for an expert that is not there."""
    per_expert = (_there(log_weights, present) * temperature).logsumexp(1)
    return per_expert.softmax(0)


def effective_experts(shares: Tensor) -> Tensor:
    """How many experts count, ``[B]``: from 1, where one has all the weight, to A, where all have the same."""
    return 1 / shares.square().sum(0)


@torch.no_grad()
def balanced_temperature(log_weights: Tensor, floor: float, present: Tensor | None = None) -> Tensor:
    """The largest temperature up to 1 at which `floor` times the number of experts count, ``[B]``.

    At a temperature near 0 all experts count alike, so one is always found. It is looked for on a logarithmic scale;
    nothing waits for the device.
    """
    wanted = floor * _n_experts(log_weights[:, 0], present)
    low = torch.full_like(log_weights[0, 0], math.log(COLDEST))
    high = torch.zeros_like(low)
    enough = effective_experts(expert_shares(log_weights, 1.0, present)) >= wanted
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        fine = effective_experts(expert_shares(log_weights, middle.exp(), present)) >= wanted
        low, high = torch.where(fine, middle, low), torch.where(fine, high, middle)
    return torch.where(enough, 1.0, low.exp())


def _loose(log_weights: Tensor, present: Tensor | None) -> Tensor:
    per_expert = log_weights.logsumexp(1) - math.log(log_weights.shape[1])
    if present is None:
        return per_expert.mean(0)
    return torch.where(present, per_expert, 0.0).sum(0) / present.sum(0)


def _there(log_weights: Tensor, present: Tensor | None) -> Tensor:
    return log_weights if present is None else torch.where(present[:, None], log_weights, -torch.inf)


def _n_experts(like: Tensor, present: Tensor | None) -> Tensor:
    """How many experts every row has, ``[B]``."""
    return torch.full_like(like[0], len(like)) if present is None else present.sum(0).to(like.dtype)
