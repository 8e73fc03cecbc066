"""Digits in five modalities, with small networks: PolyMNIST's construction for any machine."""

from .._multimodal_dataset import MultimodalDataset
from ._modalities import N_LATENT, digits_in_five_modalities
from ._rows import digits_in_five

DIGITS_IN_FIVE = MultimodalDataset(
    "digits_in_five",
    load=digits_in_five,
    modalities=digits_in_five_modalities,
    n_latent=N_LATENT,
    learning_rate=3e-3,
    judge_epochs=20,
)

__all__ = [
    "DIGITS_IN_FIVE",
    "digits_in_five",
    "digits_in_five_modalities",
]
