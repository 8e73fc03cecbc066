"""Bank: telephone calls of a Portuguese bank that offered deposits.

Source: https://archive.ics.uci.edu/dataset/222/bank+marketing, file bank-additional-full.csv. Licence: CC BY 4.0.
sha256 of the decompressed file: 74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8

All 21 columns, every number as real. The paper says that it removes "the uninformative dimension 12-th" (counted from
zero that is pdays, 96 % of which is 999) and yet lists 21 columns: nothing is removed here. "unknown" is a category.
Categories are in the order of the alphabet, as in the first author's file.
"""

from __future__ import annotations

from ._columns import nominal, real
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "bank-additional-full.csv",
    "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/00222/bank-additional.zip",
    member="bank-additional/bank-additional-full.csv",
)
ALTERNATIVES = ((FILE,),)
JOBS = [
    "admin.",
    "blue-collar",
    "entrepreneur",
    "housemaid",
    "management",
    "retired",
    "self-employed",
    "services",
    "student",
    "technician",
    "unemployed",
    "unknown",
]
EDUCATION = [
    "basic.4y",
    "basic.6y",
    "basic.9y",
    "high.school",
    "illiterate",
    "professional.course",
    "university.degree",
    "unknown",
]
COLUMNS = [
    *real("age"),
    *nominal("job", *JOBS),
    *nominal("marital", "divorced", "married", "single", "unknown"),
    *nominal("education", *EDUCATION),
    *nominal("default", "no", "unknown", "yes"),
    *nominal("housing", "no", "unknown", "yes"),
    *nominal("loan", "no", "unknown", "yes"),
    *nominal("contact", "cellular", "telephone"),
    *nominal("month", "apr", "aug", "dec", "jul", "jun", "mar", "may", "nov", "oct", "sep"),
    *nominal("day_of_week", "fri", "mon", "thu", "tue", "wed"),
    *real("duration", "campaign", "pdays", "previous"),
    *nominal("poutcome", "failure", "nonexistent", "success"),
    *real("emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed"),
    *nominal("y", "no", "yes"),
]


def bank() -> Dataset:
    """Bank: 41188 calls, 21 columns."""
    return dataset(
        "bank",
        read_csv("bank", FILE, sep=";"),
        COLUMNS,
        note="All 21 columns of the source, as the paper's table has them; its text removes one.",
    )
