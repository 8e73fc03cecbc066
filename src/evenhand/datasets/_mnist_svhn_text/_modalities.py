"""The modalities of MNIST-SVHN-Text as the paper has them."""

from __future__ import annotations

from typing import Any

from ...common import seeded
from ...modalities.estimator import Modality
from ...modalities.likelihoods import Categorical, Laplace
from ._networks import MNISTDecoder, MNISTEncoder, ScaleName, SVHNDecoder, SVHNEncoder, TextDecoder, TextEncoder

# of appendix D.5, for `MultimodalVAE` and its `fit`; its section 5.2 scales likelihoods themselves, in both arms
PAPER_SETTINGS: dict[str, dict[str, Any]] = {
    "model": {"n_latent": 20, "n_samples": 30, "local_step": "forward"},
    "fit": {"epochs": 30, "batch_size": 128, "learning_rate": 1e-3},
}


def mnist_svhn_text_modalities(
    n_latent: int = 20, *, n_layers: int = 1, seed: int = 0, scale: ScaleName = "softmax"
) -> dict[str, Modality]:
    """The paper's networks and likelihoods: Laplace with scale 0.75 for images, categories for text.

    Args:
        n_latent: Size of the latent space.
        n_layers: Hidden layers of the MNIST networks; the paper's text has 2, its code 1.
        seed: Of the initial weights.
        scale: How the image encoders make scales positive. "softmax" is the paper's; with "softplus" no posterior
            ran away in any of our counts.
    """
    with seeded(seed):
        return {
            "mnist": Modality(
                MNISTEncoder(n_latent, n_layers=n_layers, scale=scale),
                MNISTDecoder(n_latent, n_layers=n_layers),
                Laplace(0.75),
            ),
            "svhn": Modality(SVHNEncoder(n_latent, scale=scale), SVHNDecoder(n_latent), Laplace(0.75)),
            "text": Modality(TextEncoder(n_latent), TextDecoder(n_latent), Categorical(71)),
        }
