"""The scikit-learn face: a DataFrame with holes in, imputations, synthetic rows and a report out."""

from ._report import HARDLY, Report
from ._saved import frames_of, part_of, read_estimator, write_estimator
from ._tabular_vae import TabularVAE

__all__ = [
    "HARDLY",
    "Report",
    "TabularVAE",
    "frames_of",
    "part_of",
    "read_estimator",
    "write_estimator",
]
