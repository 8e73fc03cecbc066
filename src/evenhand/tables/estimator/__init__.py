"""The scikit-learn face: a DataFrame with holes in, imputations, synthetic rows and a report out."""

from ._report import HARDLY, Report
from ._tabular_vae import TabularVAE
from ._template import describe_template, make_template

__all__ = [
    "HARDLY",
    "Report",
    "TabularVAE",
    "describe_template",
    "make_template",
]
