"""MNIST-SVHN-Text: pairs of images and a text, with the paper's networks."""

from .._multimodal_dataset import MultimodalDataset
from ._modalities import PAPER_SETTINGS, mnist_svhn_text_modalities
from ._networks import MNISTDecoder, MNISTEncoder, SVHNDecoder, SVHNEncoder, TextDecoder, TextEncoder
from ._pairs import ALPHABET, mnist_svhn_text, read_text, text_codes

MNIST_SVHN_TEXT = MultimodalDataset(
    "mnist_svhn_text",
    load=mnist_svhn_text,
    modalities=mnist_svhn_text_modalities,
    n_latent=PAPER_SETTINGS["model"]["n_latent"],
    learning_rate=PAPER_SETTINGS["fit"]["learning_rate"],
    quick_judge_epochs=2,  # the default takes long on a CPU
    scales=("softmax", "softplus"),
)

__all__ = [
    "ALPHABET",
    "MNIST_SVHN_TEXT",
    "PAPER_SETTINGS",
    "MNISTDecoder",
    "MNISTEncoder",
    "SVHNDecoder",
    "SVHNEncoder",
    "TextDecoder",
    "TextEncoder",
    "mnist_svhn_text",
    "mnist_svhn_text_modalities",
    "read_text",
    "text_codes",
]
