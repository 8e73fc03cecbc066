"""The face: `MultimodalVAE` and `Modality`."""

from ._modality import Modality
from ._multimodal_vae import MultimodalVAE

__all__ = [
    "Modality",
    "MultimodalVAE",
]
