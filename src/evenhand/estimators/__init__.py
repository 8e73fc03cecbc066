"""Estimators with scikit-learn's manners."""

from ._report import Report
from ._tabular_vae import TabularVAE

__all__ = ["Report", "TabularVAE"]
