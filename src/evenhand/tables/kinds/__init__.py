"""Kinds of columns: what a model sees of them, their densities, and the way back to units."""

from ._batch import Batch
from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._gaussian import Gaussian, natural
from ._inputs import Encoding, encoder_inputs
from ._likelihood import TableLikelihood
from ._ordinal import ordinal_logits
from ._poisson import LARGEST, SMALLEST, Poisson
from ._preprocessing import Preprocessing

__all__ = [
    "LARGEST",
    "SMALLEST",
    "Batch",
    "Bernoulli",
    "Categorical",
    "Encoding",
    "Gaussian",
    "Poisson",
    "Preprocessing",
    "TableLikelihood",
    "encoder_inputs",
    "natural",
    "ordinal_logits",
]
