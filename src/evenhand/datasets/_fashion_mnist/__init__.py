"""Fashion-MNIST: two articles of a class and its name, with the default networks."""

from .._multimodal_dataset import MultimodalDataset
from ._modalities import fashion_mnist_modalities
from ._rows import ALTERNATIVES, fashion_mnist

FASHION_MNIST = MultimodalDataset(
    "fashion_mnist", load=fashion_mnist, modalities=fashion_mnist_modalities, quick_judge_epochs=2
)

__all__ = ["ALTERNATIVES", "FASHION_MNIST", "fashion_mnist", "fashion_mnist_modalities"]
