"""The scikit-learn face: a DataFrame with holes in, imputations, synthetic rows and a report out."""

from ._input import check_table
from ._report import HARDLY, Report
from ._saved import frames_of, given_schema, part_of, plain_schema, read_estimator, write_estimator
from ._tabular_vae import TabularVAE

__all__ = [
    "HARDLY",
    "Report",
    "TabularVAE",
    "check_table",
    "frames_of",
    "given_schema",
    "part_of",
    "plain_schema",
    "read_estimator",
    "write_estimator",
]
