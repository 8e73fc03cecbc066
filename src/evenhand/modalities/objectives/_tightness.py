"""Between the loose and the tight bound: how much of the weight the winning expert may take.

The tight bound has one softmax over the samples of all experts. Whoever explains rows best at first takes all the
weight, and the encoders of the others get no gradient ever after. These rules keep them alive.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ...common import check_integer, check_number

ROUNDS, POINTS = 4, 16  # of the search for a temperature: its logarithm is found to 1 / 16^4 of the range
COLDEST = 1e-4  # the lowest temperature; the bound there is the ELBO for all that single precision can tell
LEAST_SHARE = 1e-3  # of the loose weights that decoders keep, so that encoders can be given theirs


class Weighing(NamedTuple):
    """A bound, and how much the samples count.

    Attributes:
        bound: For every row, ``[B]``, with its gradient.
        decoders: How much samples count on the way to the decoders, ``[A, K, B]``: the slopes of the bound in the
            log-weights, as constants.
        encoders: What gradients at the samples are multiplied by on the way to the encoders, ``[A, K, B]``; None
            for 1.
        doubly: What they are multiplied by where they are doubly reparametrised (DReG): there a squared weight
            takes the place of a weight.
    """

    bound: Tensor
    decoders: Tensor
    encoders: Tensor | None
    doubly: Tensor


class Tightness(ABC):
    """What samples count against each other: within their expert, and experts among themselves."""

    weighs_encoders: ClassVar[bool] = False
    """Whether encoders get other weights than decoders."""

    @abstractmethod
    def weigh(self, log_weights: Tensor, present: Tensor | None = None, progress: Tensor | float = 0.0) -> Weighing:
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
class Loose(Tightness):
    """The loose bounds, equation 7 of the paper: every expert has the same weight.

    Args:
        weighted: Whether the samples of an expert are weighed among themselves (IWAE), or all count alike (ELBO).
    """

    weighted: bool = True

    def weigh(self, log_weights: Tensor, present: Tensor | None = None, progress: Tensor | float = 0.0) -> Weighing:
        """IWAE, or the ELBO."""
        within = _within(log_weights) if self.weighted else torch.full_like(log_weights, 1 / log_weights.shape[1])
        bound = _loose(log_weights, present) if self.weighted else _elbo(log_weights, present)
        doubly = within if self.weighted else torch.ones_like(within)
        return Weighing(bound, _of_experts(within, present), None, doubly)


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

    def weigh(self, log_weights: Tensor, present: Tensor | None = None, progress: Tensor | float = 0.0) -> Weighing:
        """The tempered bound."""
        return _tempered(log_weights, self.temperature, present)


@dataclass(frozen=True)
class Tight(Tightness):
    """The stratified bound itself (SIWAE, equation 8 of the paper): the winner takes it all."""

    def weigh(self, log_weights: Tensor, present: Tensor | None = None, progress: Tensor | float = 0.0) -> Weighing:
        """The tight bound."""
        return _tempered(log_weights, 1.0, present)


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

    def weigh(self, log_weights: Tensor, present: Tensor | None = None, progress: Tensor | float = 0.0) -> Weighing:
        """The tempered bound, with a temperature for every row."""
        return _tempered(log_weights, balanced_temperature(log_weights.detach(), self.floor, present), present)


@dataclass(frozen=True)
class PartlyTight(Tightness):
    """Decoders get the tight weights, encoders those among the samples of their own expert.

    Rainforth et al., "Tighter variational bounds are not necessarily better", ICML 2018 (PIWAE), carried to strata.
    Decoders keep a thousandth of the loose weights, because gradients of the encoders pass through them.
    """

    weighs_encoders = True

    def weigh(self, log_weights: Tensor, present: Tensor | None = None, progress: Tensor | float = 0.0) -> Weighing:
        """Nearly the tight bound, and how much more an encoder gets than the tight weights would give it."""
        tight, within = _tempered(log_weights, 1.0, present), _within(log_weights)
        bound = (1 - LEAST_SHARE) * tight.bound + LEAST_SHARE * _loose(log_weights, present)
        loose = _of_experts(within, present)
        shares = expert_shares(log_weights.detach(), 1.0, present)  # [A, B]
        ratio = 1 / ((1 - LEAST_SHARE) * _n_experts(shares, present) * shares + LEAST_SHARE)
        encoders = ratio.unsqueeze(1).expand_as(log_weights)
        decoders = (1 - LEAST_SHARE) * tight.decoders + LEAST_SHARE * loose
        return Weighing(bound, decoders, encoders, encoders * within)


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

    def weigh(self, log_weights: Tensor, present: Tensor | None = None, progress: Tensor | float = 0.0) -> Weighing:
        """The bound between."""
        done = torch.as_tensor(progress, dtype=log_weights.dtype, device=log_weights.device)
        share = (done / self.steps).clamp(max=1.0)
        loose, tight = Loose().weigh(log_weights, present), _tempered(log_weights, 1.0, present)
        decoders = (1 - share) * loose.decoders + share * tight.decoders
        squares = (1 - share) * loose.decoders * loose.doubly + share * tight.decoders * tight.doubly
        doubly = squares / decoders.clamp(min=torch.finfo(decoders.dtype).tiny)
        return Weighing((1 - share) * loose.bound + share * tight.bound, decoders, None, doubly)


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

    def weigh(self, log_weights: Tensor, present: Tensor | None = None, progress: Tensor | float = 0.0) -> Weighing:
        """The tight bound of weights with the heavier density, made a bound again."""
        tight = _tempered(log_weights, 1.0, present)
        return tight._replace(bound=tight.bound + math.log1p(-self.share))

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
    enough = effective_experts(expert_shares(log_weights, 1.0, present)) >= wanted
    present = None if present is None else present.unsqueeze(-1)
    log_weights, wanted = log_weights.unsqueeze(-1), wanted.unsqueeze(-1)  # [A, K, B, 1], [B, 1]
    low = torch.full_like(wanted, math.log(COLDEST))
    steps = torch.arange(1, POINTS, device=low.device)
    for i in range(ROUNDS):  # many points at once: a GPU is kept waiting by calls, not by numbers
        width = -math.log(COLDEST) / POINTS ** (i + 1)
        shares = expert_shares(log_weights, (low + width * steps).exp(), present)  # [A, B, points]
        fine = effective_experts(shares) >= wanted
        low = low + width * (fine * steps).amax(-1, keepdim=True)
    return torch.where(enough, 1.0, low.squeeze(-1).exp())


def _tempered(log_weights: Tensor, temperature: Tensor | float, present: Tensor | None) -> Weighing:
    constant = log_weights.detach()
    shares = (_there(constant, present) * temperature).flatten(0, 1).softmax(0).view_as(constant)
    # of (1/t) log sum w^t: Daudel et al., section 3.3
    doubly = 1 - temperature + temperature * shares
    return Weighing(tempered_bound(log_weights, temperature, present), shares, None, doubly)


def _within(log_weights: Tensor) -> Tensor:
    """How much a sample counts among those of its expert, ``[A, K, B]``."""
    return log_weights.detach().softmax(1)


def _of_experts(within: Tensor, present: Tensor | None) -> Tensor:
    """The same for all experts that are there."""
    shared = within / _n_experts(within[:, 0], present)
    return shared if present is None else torch.where(present[:, None], shared, 0.0)


def _elbo(log_weights: Tensor, present: Tensor | None) -> Tensor:
    return _mean_of_experts(log_weights.mean(1), present)


def _loose(log_weights: Tensor, present: Tensor | None) -> Tensor:
    return _mean_of_experts(log_weights.logsumexp(1) - math.log(log_weights.shape[1]), present)


def _mean_of_experts(values: Tensor, present: Tensor | None) -> Tensor:
    if present is None:
        return values.mean(0)
    return torch.where(present, values, 0.0).sum(0) / present.sum(0)


def _there(log_weights: Tensor, present: Tensor | None) -> Tensor:
    return log_weights if present is None else torch.where(present[:, None], log_weights, -torch.inf)


def _n_experts(like: Tensor, present: Tensor | None) -> Tensor:
    """How many experts every row has, ``[B]``."""
    return torch.full_like(like[0], len(like)) if present is None else present.sum(0).to(like.dtype)
