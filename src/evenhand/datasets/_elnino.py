"""El Nino: what buoys in the Pacific measured from 1980 to 1998.

Source: https://archive.ics.uci.edu/dataset/122/el+nino, file tao-all2.dat. Licence: CC BY 4.0.
sha256 of the decompressed file: 0ba88afa5f2529e07819379266698d8620b5f58eae9bde991181cc75f088fd7f

All 12 columns, the number of the observation and the parts of the date among them, as real. "." is missing.
"""

from __future__ import annotations

from ._columns import real
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "tao-all2.dat",
    "0ba88afa5f2529e07819379266698d8620b5f58eae9bde991181cc75f088fd7f",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/el_nino-mld/tao-all2.dat.gz",
)
ALTERNATIVES = ((FILE,),)
NAMES = [
    "obs",
    "year",
    "month",
    "day",
    "date",
    "latitude",
    "longitude",
    "zon.winds",
    "mer.winds",
    "humidity",
    "air.temp",
    "s.s.temp",
]


def elnino() -> Dataset:
    """El Nino: 178080 measurements, 12 columns."""
    return dataset(
        "elnino",
        read_csv("elnino", FILE, sep=" ", names=NAMES, na_values="."),
        real(*NAMES),
        note="7 % of the cells are missing, which the paper does not mention.",
    )
