"""Several modalities together: all of an image's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .estimator import Modality, MultimodalVAE
    from .likelihoods import Bernoulli, Categorical, Laplace, Likelihood, LogNormal, Normal, Poisson, Table
    from .networks import default_decoder, default_encoder
    from .objectives import Balanced, Defensive, LooseToTight, PartlyTight, Tempered, Tight
    from .rows import Modalities

__all__ = [
    "Balanced",
    "Bernoulli",
    "Categorical",
    "Defensive",
    "Laplace",
    "Likelihood",
    "LogNormal",
    "LooseToTight",
    "Modalities",
    "Modality",
    "MultimodalVAE",
    "Normal",
    "PartlyTight",
    "Poisson",
    "Table",
    "Tempered",
    "Tight",
    "default_decoder",
    "default_encoder",
]

_HOMES = {
    "Tight": "objectives",
    "Tempered": "objectives",
    "PartlyTight": "objectives",
    "LooseToTight": "objectives",
    "Defensive": "objectives",
    "Balanced": "objectives",
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
