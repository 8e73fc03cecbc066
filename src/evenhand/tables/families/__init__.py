"""Published models of tables, with an axis of replicas; they are given their blocks."""

from ._hivae import HIVAE
from ._latent import Latent
from ._layers import GAINS, StackedBatchNorm, StackedLinear
from ._vae import VAE

__all__ = ["GAINS", "HIVAE", "VAE", "Latent", "StackedBatchNorm", "StackedLinear"]
