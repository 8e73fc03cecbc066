"""Imputation of real tables with 20 % of the cells removed: `TabularVAE()` beside its peers, in one run.

    pip install -c constraints.txt miceforest lightgbm==4.6.0   # and see _hyperimpute.py; what is missing is left out
    EVENHAND_DATA=... python benchmarks/impute.py [--tables hi labour ...] [--only tabularvae ...] [--cache DIR]
    python benchmarks/impute.py --quick                # two tables
    python benchmarks/impute.py --collect FILE         # runs nothing: the cache into one file, for paper/imputation

Fit on 70 % of the rows, fill the others; 20 % of all cells are removed from both. Error, over removed cells of the
others: root mean square over the range of the column for numbers, share of wrong classes, averaged over columns. One
thread. Results are kept in the cache: a second run does only what is missing, or what `--again` names.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}  # before anything that starts threads

import torch
from _cache import Cache
from _filled import N_DRAWS, Filled
from _holes import MECHANISMS, Holes
from _hyperimpute import hyperimpute
from _imputation_scores import scores
from _imputation_tables import page, printed
from _imputers import fill, iterative_ridge, mean_mode, nearest_neighbours
from _tables import TABLES
from _tree_imputers import boosted_trees, miceforest, missforest

from evenhand.tables import Kind, Schema, TabularVAE
from evenhand.tables.frames import read

TWO_MINUTES = 120.0


def tabularvae(holes: Holes, **options: object) -> Filled:
    """Evenhand with its defaults, but not rounded, as no peer is; `options` for the plain training beside it."""
    filled = Filled()
    train, test = holes.frames()
    with filled.timed("fit and guess"):
        model = TabularVAE(schema=holes.schema, random_state=holes.seed, verbose=False, rounded=False, **options)  # type: ignore[arg-type]
        guess = model.fit(train).transform(test)
    with filled.timed("draws"):
        draws = model.sample_posterior(test, N_DRAWS, random_state=holes.seed)
    filled.guess = fill(holes.test, read(guess, _of_expectations(holes.schema)).values)
    filled.draws = fill(holes.test, torch.stack([torch.tensor(read(d, holes.schema).values) for d in draws]).numpy())
    filled.note = f"{model.method_}, KL x {model.kl_weight_:g}, {model.rate_:.1f} nats"
    return filled


def _of_expectations(schema: Schema) -> Schema:
    """The expectation of a count need not be whole."""
    return Schema(tuple(replace(c, kind=Kind.REAL) if c.kind.numeric and c.kind.whole else c for c in schema))


def plain_vae(holes: Holes) -> Filled:
    """The same estimator with one plain training."""
    return tabularvae(holes, method="sum", kl_weight=1.0)


def not_at_random(holes: Holes) -> Filled:
    """The same estimator, told that cells may be missing because of what they hold."""
    return tabularvae(holes, missing="not_at_random")


def alone(holes: Holes, model: str) -> Filled:
    """A network without trees beside it, so that families are compared, in two minutes at most."""
    return tabularvae(holes, model=model, trees=False, max_seconds=TWO_MINUTES)


SIDES: dict[str, Callable[[Holes], Filled]] = {
    "mean or mode": mean_mode,
    "nearest neighbours": nearest_neighbours,
    "iterative ridge": iterative_ridge,
    "boosted trees": boosted_trees,
    "missforest": missforest,
    "miceforest": miceforest,
    "hyperimpute": hyperimpute,
    "plain vae": plain_vae,
    "tabularvae": tabularvae,
    "tabularvae, not at random": not_at_random,
    "vae alone": partial(alone, model="vae"),
    "hivae alone": partial(alone, model="hivae"),
    "twoway alone": partial(alone, model="twoway"),
}


USUAL = [side for side in SIDES if not side.endswith("alone")]  # the others compare our own networks


def one(table: str, side: str, seed: int, missing: str) -> dict[str, Any]:
    """The result of one side on one table."""
    holes, start = Holes.of(table, seed, missing), time.perf_counter()
    filled = SIDES[side](holes)
    return {
        "rows": len(holes.truth),
        "seed": seed,
        "missing": missing,
        **scores(holes, filled),
        "wall seconds": round(time.perf_counter() - start, 1),
        "torch": torch.__version__,
        "machine": f"one thread, {platform.machine()}",
    }


def main() -> None:
    args = _arguments()
    if args.table:
        print(page(Path(args.table)))
        return
    torch.set_num_threads(1)
    cache = Cache(Path(args.cache) / f"{args.missing}-{args.seed}")
    if args.collect:
        cache.collect(Path(args.collect), "python benchmarks/impute.py", args.only, args.tables)
        return
    for side in args.only:  # the cheap ones of all tables first
        for table in args.tables:
            if cache.read(table, side) is None or side in args.again:
                found = cache.run(table, side, partial(one, table, side, args.seed, args.missing), args.limit)
                seconds = found.get("seconds", {}).get("fit and guess")
                print(f"{table}, {side}: {found.get('error', found.get('error message'))}, {seconds} s", flush=True)
    print(printed(cache.everything(), args.only, args.tables))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--quick", action="store_true", help="two tables")
    names = {"nargs": "+", "choices": SIDES, "metavar": "SIDE"}
    parser.add_argument("--only", default=USUAL, help=", ".join(SIDES), **names)
    parser.add_argument("--again", default=[], help="run these anew", **names)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--missing", default=MECHANISMS[0], choices=MECHANISMS)
    parser.add_argument("--cache", default="build/impute", metavar="DIR")
    parser.add_argument("--limit", type=int, default=900, help="seconds of processor time for one side on one table")
    parser.add_argument(
        "--collect", metavar="FILE", help="write the cache (of --only and --tables) into one file, that is all"
    )
    parser.add_argument("--table", metavar="FILE", help="print what such a file holds and do nothing else")
    args = parser.parse_args()
    if args.quick:
        args.tables = ["carData/Arrests", "ISLR/OJ"]
    return args


if __name__ == "__main__":
    main()
