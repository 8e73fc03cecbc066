"""Digits in three modalities, small enough for any machine: a stand-in for MNIST-SVHN-Text.

Source: https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits, the 1797 images that
scikit-learn brings along; nothing is fetched. Licence: CC BY 4.0.
"""

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
