"""HI: health insurance and hours worked by wives.

Source: https://vincentarelbundock.github.io/Rdatasets/csv/Ecdat/HI.csv. Licence: GPL-2 or later, that of Ecdat.
sha256 of the decompressed file: a87562a8482c2366a91f02c9f2a87e75b711abd1182681ed812f4343a0151983

The paper has 12 of the 13 columns, one category less: hhi2, another coding of hhi, is dropped. Of the six numbers it
has one as positive: wght, the only one without zeros.
"""

from __future__ import annotations

from ._columns import nominal, positive, real
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "Ecdat_HI.csv",
    "a87562a8482c2366a91f02c9f2a87e75b711abd1182681ed812f4343a0151983",
    "https://vincentarelbundock.github.io/Rdatasets/csv/Ecdat/HI.csv",
    r=("Ecdat", "HI"),
)
ALTERNATIVES = ((FILE,),)
COLUMNS = [
    *real("whrswk"),
    *nominal("hhi", "no", "yes"),
    *nominal("whi", "no", "yes"),
    *nominal("education", "<9years", "9-11years", "12years", "13-15years", "16years", ">16years"),
    *nominal("race", "black", "other", "white"),
    *nominal("hispanic", "no", "yes"),
    *real("experience", "kidslt6", "kids618", "husby"),
    *nominal("region", "northcentral", "other", "south", "west"),
    *positive("wght"),
]


def hi() -> Dataset:
    """HI: 22272 wives, 12 columns."""
    return dataset("hi", read_csv("hi", FILE), COLUMNS)
