"""rwm5yr: visits to doctors and hospitals, from the German health registry 1984 to 1988.

Source: https://vincentarelbundock.github.io/Rdatasets/csv/COUNT/rwm5yr.csv. Licence: GPL-2, that of COUNT.
sha256 of the decompressed file: d9f8b54a760b88c26296de82447db15698efe6672ccaeb8416cd5c36941254e2

All columns but id. Four household incomes (hhninc) are zero.
"""

from __future__ import annotations

from ._columns import count, flags, nominal, positive, with_zeros
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "COUNT_rwm5yr.csv",
    "d9f8b54a760b88c26296de82447db15698efe6672ccaeb8416cd5c36941254e2",
    "https://vincentarelbundock.github.io/Rdatasets/csv/COUNT/rwm5yr.csv",
    r=("COUNT", "rwm5yr"),
)
ALTERNATIVES = ((FILE,),)
COLUMNS = [
    *count("docvis", "hospvis"),
    *nominal("year", *range(1984, 1989)),
    *nominal("edlevel", *range(1, 5)),
    *count("age"),
    *flags("outwork", "female", "married", "kids"),
    *with_zeros("hhninc"),
    *positive("educ"),
    *flags("self", "edlevel1", "edlevel2", "edlevel3", "edlevel4"),
]


def rwm5yr() -> Dataset:
    """rwm5yr: 19609 person-years, 16 columns."""
    return dataset("rwm5yr", read_csv("rwm5yr", FILE), COLUMNS)
