"""Layers and networks that know no probability."""

from ._classifiers import ImageClassifier, TextClassifier
from ._defaults import default_decoder, default_encoder
from ._mnist_svhn_text import MNISTDecoder, MNISTEncoder, SVHNDecoder, SVHNEncoder, TextDecoder, TextEncoder
from ._stacked import GAINS, StackedBatchNorm, StackedLinear

__all__ = [
    "GAINS",
    "ImageClassifier",
    "MNISTDecoder",
    "MNISTEncoder",
    "SVHNDecoder",
    "SVHNEncoder",
    "StackedBatchNorm",
    "StackedLinear",
    "TextClassifier",
    "TextDecoder",
    "TextEncoder",
    "default_decoder",
    "default_encoder",
]
