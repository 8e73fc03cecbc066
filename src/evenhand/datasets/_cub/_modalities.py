"""The modalities of CUB: likelihoods and shapes alone, so that networks are the default ones."""

from __future__ import annotations

from ...modalities.estimator import Modality
from ...modalities.likelihoods import Categorical, Laplace
from .._from_shapes import check_one_layer
from ._captions import LENGTH, N_SYMBOLS
from ._rows import SIDE


def cub_modalities(n_latent: int = 64, *, n_layers: int = 1, seed: int = 0) -> dict[str, Modality]:
    """A Laplace likelihood for photographs and categories for words; the model makes its networks from the shapes.

    Args:
        n_latent: Size of the latent space, which the model knows by itself.
        n_layers: Should be 1: networks that are made from shapes leave no choice.
        seed: Of the initial weights, which the model draws with its own.
    """
    check_one_layer(n_layers)
    image = Modality(likelihood=Laplace(), shape=(3, SIDE, SIDE))
    return {"image": image, "caption": Modality(likelihood=Categorical(N_SYMBOLS), shape=(LENGTH,))}
