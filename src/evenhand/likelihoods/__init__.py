"""How probable data are, given what a decoder says: whole modalities, and all columns of a table."""

from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._inputs import encoder_inputs
from ._laplace import Laplace
from ._likelihood import Likelihood, full_precision
from ._log_normal import LogNormal
from ._normal import Normal
from ._poisson import Poisson
from ._table import TableLikelihood
from ._table_modality import Table

__all__ = [
    "Bernoulli",
    "Categorical",
    "Laplace",
    "Likelihood",
    "LogNormal",
    "Normal",
    "Poisson",
    "Table",
    "TableLikelihood",
    "encoder_inputs",
    "full_precision",
]
