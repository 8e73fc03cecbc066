"""VAEM: a small VAE for every column, and one more over their codes."""

from ._marginals import Marginals
from ._vaem import VAEM

__all__ = ["VAEM", "Marginals"]
