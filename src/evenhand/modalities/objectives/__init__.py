"""Objectives of mixtures: pure functions of log-probabilities."""

from ._contrastive import contrastive
from ._mixture import mixture_bound, mixture_log_q, mixture_log_weights, mixture_shares
from ._mmjsd import dynamic_prior, gaussian_kl, mmjsd

__all__ = [
    "contrastive",
    "dynamic_prior",
    "gaussian_kl",
    "mixture_bound",
    "mixture_log_q",
    "mixture_log_weights",
    "mixture_shares",
    "mmjsd",
]
