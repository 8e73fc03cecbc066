"""Objectives: pure functions of log-probabilities."""

from ._contrastive import contrastive
from ._dreg import dreg
from ._elbo import elbo
from ._iwae import iwae
from ._mixture import mixture_bound, mixture_log_q, mixture_log_weights, mixture_shares
from ._mmjsd import dynamic_prior, gaussian_kl, mmjsd

__all__ = [
    "contrastive",
    "dreg",
    "dynamic_prior",
    "elbo",
    "gaussian_kl",
    "iwae",
    "mixture_bound",
    "mixture_log_q",
    "mixture_log_weights",
    "mixture_shares",
    "mmjsd",
]
