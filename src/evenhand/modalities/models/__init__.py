"""Mixture-based VAEs and their experts."""

from ._experts import Experts, expert_subsets, product_of_experts
from ._mixture import MixtureTerms, MixtureVAE, log_densities

__all__ = ["Experts", "MixtureTerms", "MixtureVAE", "expert_subsets", "log_densities", "product_of_experts"]
