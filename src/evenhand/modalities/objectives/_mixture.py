"""Objectives of mixtures of experts: pure functions of log-probabilities."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ...common import ArgumentError, check_choice
from ._names import BOUNDS, Bound
from ._tightness import Loose, Tight, Tightness


def mixture_log_q(log_q: Tensor, present: Tensor | None = None) -> Tensor:
    r"""The log-density of the mixture, :math:`\log \frac{1}{|A|} \sum_{A'} q_{A'}(z_A)`, ``[A, K, B]``.

    Args:
        log_q: log q_A'(z_A), ``[A, A', K, B]``.
        present: Which experts a row has, ``[A, B]``; None for all.
    """
    if present is None:
        return log_q.logsumexp(1) - math.log(log_q.shape[1])
    there = torch.where(present[:, None], log_q, -torch.inf)
    return there.logsumexp(1) - present.sum(0).log()


def mixture_log_weights(
    log_likelihood: Tensor,
    log_q: Tensor,
    log_prior: Tensor,
    present: Tensor | None = None,
    kl_weight: float | Tensor = 1.0,
    rule: Tightness | None = None,
) -> Tensor:
    r"""The logarithms of importance weights, :math:`\log p(x|z_A) + \beta (\log p(z_A) - \log q(z_A|x))`.

    Args:
        log_likelihood: log p(x_d | z_A), ``[A, K, B, D]``.
        log_q: log q_A'(z_A), ``[A, A', K, B]``.
        log_prior: log p(z_A), ``[A, K, B]``.
        present: Which experts a row has, ``[A, B]``; None for all.
        kl_weight: beta; 1 for a bound of the evidence.
        rule: May weigh samples by another density than that of the mixture.

    Returns:
        ``[A, K, B]``.
    """
    density = mixture_log_q(log_q, present)
    density = density if rule is None else rule.log_q(density, log_prior)
    return log_likelihood.sum(-1) + kl_weight * (log_prior - density)


def mixture_bound(name: Bound, log_weights: Tensor, present: Tensor | None = None) -> Tensor:
    r"""A lower bound of log p(x) from stratified samples, for every row ``[B]``.

    .. math:: \text{ELBO: } \frac{1}{|A| K} \sum_{A,k} \log w_k^A, \quad
              \text{IWAE: } \frac{1}{|A|} \sum_A \log \frac1K \sum_k w_k^A, \quad
              \text{SIWAE: } \log \frac{1}{|A| K} \sum_{A,k} w_k^A

    The paper's equations 7 (loose: IWAE, and the ELBO) and 8 (tight: SIWAE). In expectation they rise in this order.

    Shi et al., NeurIPS 2019; Morningstar et al., "Automatic Differentiation Variational Inference with Mixtures",
    AISTATS 2021.

    Args:
        name: "elbo", "iwae" or "siwae".
        log_weights: ``[A, K, B]``.
        present: Which experts a row has, ``[A, B]``; None for all.
    """
    return rule_of(name).weigh(log_weights, present).bound


def rule_of(name: Bound, tightness: Tightness | None = None) -> Tightness:
    """How samples are weighed under a bound; the tight one can be made less so."""
    check_choice("objective", name, BOUNDS)
    if name == "siwae":
        return Tight() if tightness is None else tightness
    if tightness is not None:
        raise ArgumentError("tightness", f"be None with objective={name!r}, which is loose already", repr(tightness))
    return Loose(weighted=name == "iwae")


def mixture_shares(name: Bound, log_weights: Tensor, present: Tensor | None = None) -> Tensor:
    r"""How much a sample counts among those it is averaged with, ``[A, K, B]``: 1 for the ELBO, else a softmax.

    With gradients at z multiplied by them, those of the bound become doubly reparametrised: :math:`\tilde w^2` takes
    the place of :math:`\tilde w` on the way to the encoders and not on the way to the decoders.

    Tucker et al., "Doubly Reparameterized Gradient Estimators for Monte Carlo Objectives", ICLR 2019.
    """
    return rule_of(name).weigh(log_weights.detach(), present).doubly
