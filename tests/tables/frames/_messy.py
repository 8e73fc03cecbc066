"""A CSV file as customers' tables are: ids, dates, free text, columns that hold nothing, and many holes."""

from pathlib import Path

import numpy as np
import pandas as pd

COUNTRIES, SHARES = ("Austria", "Chile", "Iceland", "Japan"), (0.5, 0.29, 0.01, 0.2)
OPENINGS = ("Called twice about the last invoice", "Asked how to change the address", "Wants to hear of new plans")
ENDINGS = (
    "and was helped at once",
    "and was told to wait",
    "but hung up",
    "and will write",
    "and said thanks",
    "again",
)
SUBJECTS = ("by phone", "by mail", "in the shop", "through a friend")


def write_messy_csv(path: str | Path, rows: int = 400, seed: int = 0) -> None:
    """Write the file; 15 % of the cells are missing, but for ids and the numbers of rows."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 85, rows)
    income = np.exp(6.5 + age / 40 + 0.5 * rng.normal(size=rows))
    signup = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1500, rows), unit="D")
    visits = rng.poisson(2 + (age < 40) * 8)
    texts = pd.DataFrame(
        {
            "": np.arange(rows),  # what an exported index looks like
            "customer_id": rng.choice(90_000_000, rows, replace=False) + 10_000_000,
            "signup": signup.strftime("%Y-%m-%d"),
            "last_seen": (signup + pd.to_timedelta(rng.integers(1, 500_000, rows), unit="min")).strftime(
                "%Y-%m-%d %H:%M"
            ),
            "age": age,
            "income": income.round(2),
            "balance": (income / 10 * rng.normal(size=rows)).round(2),
            "plan": np.where(income > np.median(income), "premium", rng.choice(["basic", "family"], rows)),
            "country": rng.choice(COUNTRIES, rows, p=SHARES),
            "active": np.where(visits > 4, "yes", "no"),
            "visits": visits,
            "comment": [" ".join(rng.choice(part) for part in (OPENINGS, SUBJECTS, ENDINGS)) for _ in range(rows)],
            "currency": "EUR",
            "remark": "",
        }
    ).astype(str)
    hidden = rng.random(texts.shape) < 0.15
    hidden[:, :2] = False
    markers = rng.choice(["", "NA", "?"], texts.shape, p=[0.8, 0.1, 0.1])
    markers[:, -1] = ""  # the empty column
    texts.mask(hidden, pd.DataFrame(markers, columns=texts.columns)).to_csv(path, index=False, lineterminator="\n")
