"""How probable a whole modality is, given what a decoder says."""

from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._laplace import Laplace
from ._likelihood import Likelihood, full_precision, log_prob
from ._log_normal import LogNormal
from ._normal import Normal
from ._poisson import Poisson
from ._table import Table

__all__ = [
    "Bernoulli",
    "Categorical",
    "Laplace",
    "Likelihood",
    "LogNormal",
    "Normal",
    "Poisson",
    "Table",
    "full_precision",
    "log_prob",
]
