"""Credit: clients of a Taiwanese bank in 2005, and whether they defaulted.

Source: https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients, there as a spreadsheet; as the file
UCI_Credit_Card.csv at https://www.kaggle.com/datasets/uciml/default-of-credit-card-clients-dataset, which takes an
account, so that it must be fetched by hand. Licence: CC BY 4.0.
sha256 of the decompressed file: 9e5c04a4331d1e7b7d11b5ce881f550d55c1932292eacfe3734dd4546888ddec

All columns but ID. The payments hold many zeros. The paper's data files give SEX three categories, of which two
occur: here it is binary.
"""

from __future__ import annotations

from ._columns import count, flags, nominal, ordinal, positive, real, with_zeros
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File("UCI_Credit_Card.csv", "9e5c04a4331d1e7b7d11b5ce881f550d55c1932292eacfe3734dd4546888ddec")
ALTERNATIVES = ((FILE,),)
COLUMNS = [
    *positive("LIMIT_BAL"),
    *nominal("SEX", 1, 2),
    *nominal("EDUCATION", *range(7)),
    *nominal("MARRIAGE", *range(4)),
    *count("AGE"),
    *[column for month in (0, 2, 3, 4, 5, 6) for column in ordinal(f"PAY_{month}", *range(-2, 9))],
    *real(*(f"BILL_AMT{month}" for month in range(1, 7))),
    *with_zeros(*(f"PAY_AMT{month}" for month in range(1, 7))),
    *flags("default.payment.next.month"),
]


def credit() -> Dataset:
    """Credit: 30000 clients, 24 columns."""
    return dataset(
        "credit",
        read_csv("credit", FILE),
        COLUMNS,
        note="SEX has the two categories that occur, not three.",
    )
