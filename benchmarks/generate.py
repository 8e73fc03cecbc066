"""Synthetic rows of real tables: Evenhand beside TVAE (as shipped, and with classes sampled) and a Gaussian copula.

    pip install -c constraints.txt ctgan        # for TVAE; without it that row is left out
    EVENHAND_DATA=... python benchmarks/generate.py [--sets hi labour rwm5yr] [--epochs 100] [--json FILE]

Fit on 80 % of the rows, generate as many as the other 20 %, and compare with these in the manner of SDMetrics: column
shapes and pair trends over all pairs, and the same with strongly related pairs only. `Real rows` is the ceiling:
training rows in place of synthetic ones. Independent columns show what the measure forgives.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch
from _generators import fit_tvae, gaussian_copula, independent, sample_tvae
from impute import load
from numpy.typing import NDArray

from evenhand.tables import TabularVAE, quality
from evenhand.tables.frames import read

SETS = ("hi", "labour", "rwm5yr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--epochs", type=int, default=100, help="of TVAE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="auto", help="of Evenhand")
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    results: dict[str, dict[str, object]] = {}
    for name in args.sets:
        table, schema, frame = load(name)
        order = np.random.default_rng(args.seed).permutation(len(table))
        train, test = np.split(order, [int(0.8 * len(order))])
        known, real = table.values[train], table.values[test]
        print(f"\n{name}: {len(train)} rows to learn from, {len(test)} to compare with")
        print(f"{'':24} {'quality':>8} {'shapes':>7} {'pairs':>6} {'strong pairs':>13} {'lost':>5} {'seconds':>8}")

        def judge(label: str, rows: NDArray[np.float64], seconds: float, name=name, real=real, schema=schema) -> None:  # noqa: ANN001
            found, strong = quality(real, rows, schema), quality(real, rows, schema, strong_pairs=True)
            numbers = [found.score, found.shape, found.pair, strong.score]
            results.setdefault(name, {})[label] = {
                **dict(zip(("quality", "shapes", "pairs", "strong"), [round(x, 4) for x in numbers], strict=True)),
                "lost": len(found.lost),
                "seconds": round(seconds, 1),
            }
            print(
                f"{label:24} {numbers[0]:8.3f} {numbers[1]:7.3f} {numbers[2]:6.3f} {numbers[3]:13.3f} "
                f"{len(found.lost):5} {seconds:8.1f}",
                flush=True,
            )

        judge("real rows (ceiling)", known[: len(test)], 0.0)
        for label, generate in {"independent columns": independent, "Gaussian copula": gaussian_copula}.items():
            start = time.process_time()
            judge(label, generate(known, schema, len(test), args.seed), time.process_time() - start)
        start = time.process_time()
        try:
            tvae = fit_tvae(known, schema, args.seed, epochs=args.epochs)
        except ImportError as error:
            print(error)
        else:
            seconds = time.process_time() - start
            judge("TVAE", sample_tvae(tvae, len(test), args.seed), seconds)
            judge("TVAE, classes sampled", sample_tvae(tvae, len(test), args.seed, argmax=False), seconds)
        for label, options in {
            "plain VAE": {"method": "sum", "kl_weight": 1.0},
            f"Evenhand {args.method}": {"method": args.method},
        }.items():
            start = time.process_time()
            model = TabularVAE(schema=schema, random_state=args.seed, verbose=False, **options).fit(frame.iloc[train])
            seconds = time.process_time() - start
            judge(label, read(model.sample(len(test)), schema).values, seconds)
            unmatched = model.sample(len(test), match_marginals=False)
            judge(f"{label}, as drawn", read(unmatched, schema).values, seconds)
        if args.json:
            with open(args.json, "w") as file:
                json.dump({"seed": args.seed, "tvae_epochs": args.epochs, "results": results}, file)


if __name__ == "__main__":
    main()
