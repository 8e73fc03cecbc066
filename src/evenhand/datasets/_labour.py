"""labour: earnings of men in the population survey that a training programme was compared with.

Source: https://vincentarelbundock.github.io/Rdatasets/csv/DAAG/cps1.csv. Licence: GPL-3, that of DAAG.
sha256 of the decompressed file: 06bb86f71868bf92a85db7e172426cfc3f1f8d5bedcbaf784674a56e6810a73c

All columns but trt, which is constant.
"""

from __future__ import annotations

from ._columns import count, flags, real
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "DAAG_cps1.csv",
    "06bb86f71868bf92a85db7e172426cfc3f1f8d5bedcbaf784674a56e6810a73c",
    "https://vincentarelbundock.github.io/Rdatasets/csv/DAAG/cps1.csv",
    r=("DAAG", "cps1"),
)
ALTERNATIVES = ((FILE,),)
COLUMNS = [*count("age", "educ"), *flags("black", "hisp", "marr", "nodeg"), *real("re74", "re75", "re78")]


def labour() -> Dataset:
    """labour: 15992 men, 9 columns."""
    return dataset("labour", read_csv("labour", FILE), COLUMNS)
