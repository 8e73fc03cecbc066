"""Frames and files to arrays and back, and masks of missing cells."""

from ._files import TableFile, file_format, read_file, write_file
from ._form import Form
from ._frame import build, fill, forms_of
from ._missing import at_random, completely_at_random, depending_on_values
from ._parquet import fill_parquet, sample_parquet
from ._raw import RawTable
from ._read import check_extremes, read

__all__ = [
    "Form",
    "RawTable",
    "TableFile",
    "at_random",
    "build",
    "check_extremes",
    "completely_at_random",
    "depending_on_values",
    "file_format",
    "fill",
    "fill_parquet",
    "forms_of",
    "read",
    "read_file",
    "sample_parquet",
    "write_file",
]
