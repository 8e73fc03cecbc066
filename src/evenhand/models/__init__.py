"""Published models, each with an axis of replicas; they are given their blocks."""

from ._hivae import HIVAE
from ._inputs import encoder_inputs
from ._latent import Latent
from ._vae import VAE

__all__ = ["HIVAE", "VAE", "Latent", "encoder_inputs"]
