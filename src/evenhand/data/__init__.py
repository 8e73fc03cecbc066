"""Tables for models: frames to tensors and back, missing cells, and the paper's data sets."""

from . import datasets
from ._batch import Batch
from ._files import TableFile, read_file, write_file
from ._form import Form
from ._frame import build, fill, forms_of
from ._missing import at_random, completely_at_random, depending_on_values, hide
from ._modalities import Modalities
from ._preprocessing import Preprocessing
from ._raw import RawTable
from ._table import read
from ._whole import whole_file

__all__ = [
    "Batch",
    "Form",
    "Modalities",
    "Preprocessing",
    "RawTable",
    "TableFile",
    "at_random",
    "build",
    "completely_at_random",
    "datasets",
    "depending_on_values",
    "fill",
    "forms_of",
    "hide",
    "read",
    "read_file",
    "whole_file",
    "write_file",
]
