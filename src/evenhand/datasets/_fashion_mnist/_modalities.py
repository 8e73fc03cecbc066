"""The modalities of Fashion-MNIST: likelihoods and shapes alone, so that networks are the default ones."""

from __future__ import annotations

from ...modalities.estimator import Modality
from ...modalities.likelihoods import Categorical, Laplace
from .._from_shapes import check_one_layer
from .._mnist_svhn_text import ALPHABET
from ._rows import LENGTH


def fashion_mnist_modalities(n_latent: int = 20, *, n_layers: int = 1, seed: int = 0) -> dict[str, Modality]:
    """Laplace likelihoods for images and categories for the text; the model makes its networks from the shapes.

    Args:
        n_latent: Size of the latent space, which the model knows by itself.
        n_layers: Should be 1: networks that are made from shapes leave no choice.
        seed: Of the initial weights, which the model draws with its own.
    """
    check_one_layer(n_layers)
    image = Modality(likelihood=Laplace(), shape=(1, 28, 28))
    text = Modality(likelihood=Categorical(len(ALPHABET)), shape=(LENGTH,))
    return {"article": image, "other": image, "text": text}
