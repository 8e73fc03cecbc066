"""Published models; they are given their blocks."""

from ._experts import Experts, expert_subsets, product_of_experts
from ._hivae import HIVAE
from ._latent import Latent, log_normal
from ._mixture import MixtureTerms, MixtureVAE, log_densities
from ._vae import VAE

__all__ = [
    "HIVAE",
    "VAE",
    "Experts",
    "Latent",
    "MixtureTerms",
    "MixtureVAE",
    "expert_subsets",
    "log_densities",
    "log_normal",
    "product_of_experts",
]
