"""Mixture-based VAEs and their experts."""

from ._experts import Experts, ExpertsName, expert_subsets
from ._mixture import MixtureTerms, MixtureVAE, log_densities

__all__ = [
    "Experts",
    "ExpertsName",
    "MixtureTerms",
    "MixtureVAE",
    "expert_subsets",
    "log_densities",
]
