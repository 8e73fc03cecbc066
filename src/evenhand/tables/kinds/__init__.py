"""Kinds of columns: what a model sees of them, their densities, and the way back to units."""

from ._batch import Batch
from ._count import LOG_RATES
from ._density import Density
from ._gaussian import Parameters
from ._inputs import encoder_inputs
from ._kind import Encoding, PositiveRule
from ._likelihood import TableLikelihood
from ._lipschitz import lipschitz
from ._pieces import Pieces
from ._preprocessing import Preprocessing

__all__ = [
    "LOG_RATES",
    "Batch",
    "Density",
    "Encoding",
    "Parameters",
    "Pieces",
    "PositiveRule",
    "Preprocessing",
    "TableLikelihood",
    "encoder_inputs",
    "lipschitz",
]
