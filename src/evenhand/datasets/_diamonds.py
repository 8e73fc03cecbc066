"""Diamonds: prices and properties of round cut diamonds.

Source: https://vincentarelbundock.github.io/Rdatasets/csv/ggplot2/diamonds.csv. Licence: MIT, that of ggplot2.
sha256 of the decompressed file: 974c2ce1c1ce245508bd357ca11a7fba2b37813ecf0f1158808a9249ebff67a1

All columns. carat is real, as the paper's table counts it; the first author's file has it as positive. Categories
are in the order of the alphabet, as there.
"""

from __future__ import annotations

from ._columns import nominal, real
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "ggplot2_diamonds.csv",
    "974c2ce1c1ce245508bd357ca11a7fba2b37813ecf0f1158808a9249ebff67a1",
    "https://vincentarelbundock.github.io/Rdatasets/csv/ggplot2/diamonds.csv",
    r=("ggplot2", "diamonds"),
)
ALTERNATIVES = ((FILE,),)
COLUMNS = [
    *real("carat"),
    *nominal("cut", "Fair", "Good", "Ideal", "Premium", "Very Good"),
    *nominal("color", *"DEFGHIJ"),
    *nominal("clarity", "I1", "IF", "SI1", "SI2", "VS1", "VS2", "VVS1", "VVS2"),
    *real("depth", "table", "price", "x", "y", "z"),
]


def diamonds() -> Dataset:
    """Diamonds: 53940 stones, 10 columns."""
    return dataset("diamonds", read_csv("diamonds", FILE), COLUMNS)
