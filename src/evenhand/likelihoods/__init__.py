"""How probable the cells of a table are: one file per kind, all columns of a kind at once."""

from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._gaussian import Gaussian, natural
from ._ordinal import ordinal_logits
from ._poisson import Poisson
from ._table import TableLikelihood

__all__ = ["Bernoulli", "Categorical", "Gaussian", "Poisson", "TableLikelihood", "natural", "ordinal_logits"]
