"""Columns of a table: one file per kind, all columns of a kind at once."""

from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._gaussian import Gaussian, natural
from ._ordinal import ordinal_logits
from ._poisson import Poisson

__all__ = ["Bernoulli", "Categorical", "Gaussian", "Poisson", "natural", "ordinal_logits"]
