"""Digits in three modalities, with small networks: a stand-in for MNIST-SVHN-Text."""

from .._multimodal_dataset import MultimodalDataset
from ._modalities import N_LATENT, digits_in_three_modalities
from ._rows import digits_in_three

DIGITS_IN_THREE = MultimodalDataset(
    "digits_in_three", load=digits_in_three, modalities=digits_in_three_modalities, n_latent=N_LATENT
)

__all__ = [
    "DIGITS_IN_THREE",
    "digits_in_three",
    "digits_in_three_modalities",
]
