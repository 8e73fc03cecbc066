"""MNIST-SVHN-Text: pairs of images and a text, with the paper's networks."""

from ._modalities import PAPER_SETTINGS, mnist_svhn_text_modalities
from ._networks import MNISTDecoder, MNISTEncoder, SVHNDecoder, SVHNEncoder, TextDecoder, TextEncoder
from ._pairs import ALPHABET, mnist_svhn_text, read_text, text_codes

__all__ = [
    "ALPHABET",
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
