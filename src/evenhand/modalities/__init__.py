"""Several modalities together: all of an image's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .estimator import Modality, MultimodalVAE
    from .likelihoods import Bernoulli, Categorical, Laplace, Likelihood, LogNormal, Normal, Poisson, Table
    from .networks import default_decoder, default_encoder
    from .rows import Modalities

__all__ = [
    "Bernoulli",
    "Categorical",
    "Laplace",
    "Likelihood",
    "LogNormal",
    "Modalities",
    "Modality",
    "MultimodalVAE",
    "Normal",
    "Poisson",
    "Table",
    "default_decoder",
    "default_encoder",
]

_HOMES = {
    "Bernoulli": "likelihoods",
    "Categorical": "likelihoods",
    "Laplace": "likelihoods",
    "Likelihood": "likelihoods",
    "LogNormal": "likelihoods",
    "Modalities": "rows",
    "Modality": "estimator",
    "MultimodalVAE": "estimator",
    "Normal": "likelihoods",
    "Poisson": "likelihoods",
    "Table": "likelihoods",
    "default_decoder": "networks",
    "default_encoder": "networks",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES, "multimodal")
