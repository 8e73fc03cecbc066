"""Objectives of mixtures: pure functions of log-probabilities."""

from ._contrastive import comparable, contrastive, with_unrelated
from ._mixture import mixture_bound, mixture_log_q, mixture_log_weights, mixture_shares
from ._mmjsd import dynamic_prior, gaussian_kl, mmjsd
from ._names import BOUNDS, OBJECTIVES, Bound, Objective

__all__ = [
    "BOUNDS",
    "OBJECTIVES",
    "Bound",
    "Objective",
    "comparable",
    "contrastive",
    "dynamic_prior",
    "gaussian_kl",
    "mixture_bound",
    "mixture_log_q",
    "mixture_log_weights",
    "mixture_shares",
    "mmjsd",
    "with_unrelated",
]
