"""Objectives of mixtures: pure functions of log-probabilities."""

from ._contrastive import comparable, contrastive, with_unrelated
from ._mixture import mixture_bound, mixture_log_q, mixture_log_weights, mixture_shares, rule_of
from ._mmjsd import dynamic_prior, gaussian_kl, mmjsd
from ._names import BOUNDS, OBJECTIVES, Bound, Objective
from ._tightness import (
    Balanced,
    Defensive,
    Loose,
    LooseToTight,
    PartlyTight,
    Tempered,
    Tight,
    Tightness,
    Weighing,
    effective_experts,
    expert_shares,
)

__all__ = [
    "BOUNDS",
    "OBJECTIVES",
    "Balanced",
    "Bound",
    "Defensive",
    "Loose",
    "LooseToTight",
    "Objective",
    "PartlyTight",
    "Tempered",
    "Tight",
    "Tightness",
    "Weighing",
    "comparable",
    "contrastive",
    "dynamic_prior",
    "effective_experts",
    "expert_shares",
    "gaussian_kl",
    "mixture_bound",
    "mixture_log_q",
    "mixture_log_weights",
    "mixture_shares",
    "mmjsd",
    "rule_of",
    "with_unrelated",
]
