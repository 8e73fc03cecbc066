"""CUB: photographs of birds and what people say about them, with the default networks."""

from .._multimodal_dataset import MultimodalDataset
from ._captions import END, PADDING, UNKNOWN, Vocabulary
from ._modalities import cub_modalities
from ._rows import cub, cub_vocabulary

CUB = MultimodalDataset("cub", load=cub, modalities=cub_modalities, n_latent=64)

__all__ = ["CUB", "END", "PADDING", "UNKNOWN", "Vocabulary", "cub", "cub_modalities", "cub_vocabulary"]
