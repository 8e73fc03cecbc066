"""Kinds of columns: what a model sees of them, their densities, and the way back to units."""

from ._batch import Batch
from ._categorical import Categorical
from ._count import LOG_RATES, Poisson
from ._density import Density
from ._gaussian import Gaussian, Parameters, natural
from ._inputs import encoder_inputs
from ._kind import Encoding, PositiveRule
from ._likelihood import TableLikelihood
from ._ordinal import ordinal_logits
from ._preprocessing import Preprocessing

__all__ = [
    "LOG_RATES",
    "Batch",
    "Categorical",
    "Density",
    "Encoding",
    "Gaussian",
    "Parameters",
    "Poisson",
    "PositiveRule",
    "Preprocessing",
    "TableLikelihood",
    "encoder_inputs",
    "natural",
    "ordinal_logits",
]
