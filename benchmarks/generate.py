"""Synthetic rows of real tables: `TabularVAE()` beside its peers.

    pip install -c constraints.txt xgboost ctgan ForestDiffusion    # and see _arf.py; what is missing is left out
    EVENHAND_DATA=... python benchmarks/generate.py [--tables hi labour ...] [--only tabularvae ...] [--cache DIR]
    python benchmarks/generate.py --collect FILE      # runs nothing: the cache into one file, for paper/generation

Fit on 80 % of the rows (those without holes), make as many, and compare with the other 20 %:

- detection: boosted trees try to tell new rows from real ones; 1 - (2 max(AUC, 1/2) - 1), the mean over three
  folds, as SDMetrics counts, so 1 is best. Against the other 20 %, and against the training rows, four times as many;
- shapes, pairs, strong pairs: SDMetrics' quality, all and strongly related pairs; categories that were lost;
- utility: every column learnt by boosted trees from 5,000 new rows, judged on real ones: the part of what as many
  real rows teach beyond the mean or mode;
- membership: AUC of the distance to the closest new row as a test for training rows; 0.5 gives nobody away;
- seconds of one process with one thread, to fit and to make the rows.

`real rows` are the training rows themselves: the ceiling of likeness, and what a copy looks like to one who asks
for members.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}  # before anything that starts threads

import torch
from _arf import arf
from _cache import Cache
from _generation_scores import scores
from _generation_tables import page, printed
from _generators import ctgan, forest_diffusion, gaussian_copula, independent, real_rows, tvae
from _rows import Generated, Rows

from evenhand.tables import TabularVAE
from evenhand.tables.frames import read

TABLES = ("adult", "hi", "labour", "diamonds")


def tabularvae(rows: Rows) -> Generated:
    """Evenhand with its defaults: rows as drawn, and with numbers moved to quantiles of the training rows."""
    made = Generated()
    with made.timed("fit and sample"):
        model = TabularVAE(schema=rows.schema, random_state=rows.seed, verbose=False).fit(
            rows.frame.iloc[rows.fitted]
        )
        drawn = model.sample(rows.n, match_marginals=False, random_state=rows.seed)
    moved = model.sample(rows.n, match_marginals=True, random_state=rows.seed)
    made.tables = {"as drawn": read(drawn, rows.schema).values, "moved": read(moved, rows.schema).values}
    made.note = f"{model.method_}, KL x {model.kl_weight_:g}, {model.rate_:.1f} nats"
    return made


SIDES: dict[str, Callable[[Rows], Generated]] = {
    "real rows": real_rows,
    "independent columns": independent,
    "Gaussian copula": gaussian_copula,
    "TVAE": tvae,
    "CTGAN": ctgan,
    "ARF": arf,
    "forest diffusion": forest_diffusion,
    "tabularvae": tabularvae,
}


def one(table: str, side: str, seed: int) -> dict[str, Any]:
    """The result of one side on one table."""
    rows = Rows.of(table, seed)
    found = scores(rows, SIDES[side](rows))
    return {"rows": len(rows.train), "seed": seed, **found, "torch": torch.__version__}


def main() -> None:
    args = _arguments()
    if args.table:
        print(page(Path(args.table)))
        return
    torch.set_num_threads(1)
    cache = Cache(Path(args.cache) / f"{args.seed}")
    if args.collect:
        cache.collect(Path(args.collect), "python benchmarks/generate.py", SIDES, TABLES)
        return
    for side in args.only:
        for table in args.tables:
            if cache.read(table, side) is None or side in args.again:
                found = cache.run(table, side, partial(one, table, side, args.seed), args.limit)
                print(f"{table}, {side}: {found.get('error message', 'done')}", flush=True)
    print(printed(cache.everything(), list(SIDES), args.tables))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--quick", action="store_true", help="one table")
    names = {"nargs": "+", "choices": SIDES, "metavar": "SIDE"}
    parser.add_argument("--only", default=list(SIDES), help=", ".join(SIDES), **names)
    parser.add_argument("--again", default=[], help="run these anew", **names)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", default="build/generate", metavar="DIR")
    parser.add_argument("--limit", type=int, default=1800, help="seconds of processor time for one side on one table")
    parser.add_argument("--collect", metavar="FILE", help="write the cache into one file and do nothing else")
    parser.add_argument("--table", metavar="FILE", help="print what such a file holds and do nothing else")
    args = parser.parse_args()
    if args.quick:
        args.tables = ["labour"]
    return args


if __name__ == "__main__":
    main()
