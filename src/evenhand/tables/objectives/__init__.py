"""Objectives of tables: pure functions of log-probabilities."""

from ._dreg import dreg
from ._elbo import elbo
from ._iwae import iwae

__all__ = ["dreg", "elbo", "iwae"]
