"""PolyMNIST: five images of a digit on five backgrounds, with the default networks."""

from .._multimodal_dataset import MultimodalDataset
from ._modalities import polymnist_modalities
from ._rows import polymnist

POLYMNIST = MultimodalDataset(
    "polymnist", load=polymnist, modalities=polymnist_modalities, n_latent=64, quick_judge_epochs=2
)

__all__ = ["POLYMNIST", "polymnist", "polymnist_modalities"]
