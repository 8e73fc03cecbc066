"""Wine: red and white vinho verde, measured and tasted.

Source: https://archive.ics.uci.edu/dataset/186/wine+quality, files winequality-red.csv and winequality-white.csv.
Licence: CC BY 4.0. sha256 of the decompressed files:
red 4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e,
white 76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836

Eleven measurements, the quality and the colour. White wines come first, as in the table of HI-VAE that the paper took
over, so that its published masks fit. There the 151 zeros of citric acid are 0.001: this is its zero_offset.
"""

from __future__ import annotations

from ..tables.schema import Column, Kind
from ._columns import count, nominal, positive
from ._dataset import Dataset, dataset
from ._fetch import File, need, read_csv

URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/"
FILES = {
    "white": File(
        "winequality-white.csv",
        "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
        f"{URL}winequality-white.csv",
    ),
    "red": File(
        "winequality-red.csv",
        "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
        f"{URL}winequality-red.csv",
    ),
}
ALTERNATIVES = (tuple(FILES.values()),)
COLUMNS = [
    *positive("fixed acidity", "volatile acidity"),
    Column(
        "citric acid", Kind.POSITIVE, zero_offset=0.001, reason="As in the paper, whose data have 0.001 for zero."
    ),
    *positive("residual sugar", "chlorides", "free sulfur dioxide", "total sulfur dioxide", "density", "pH"),
    *positive("sulphates", "alcohol"),
    *count("quality"),
    *nominal("colour", "red", "white"),
]


def wine() -> Dataset:
    """Wine: 6497 wines, 13 columns."""
    parts = [read_csv("wine", file, sep=";").assign(colour=colour) for colour, file in FILES.items()]
    return dataset("wine", need("pandas").concat(parts), COLUMNS)
