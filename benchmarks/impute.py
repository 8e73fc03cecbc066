"""Imputation on real tables with 20 % of the cells removed: Evenhand beside its peers, in one run.

    EVENHAND_DATA=... python benchmarks/impute.py [--sets hi labour ...] [--seed 0] [--json FILE]

Fit and impute the same masked table. Error: the paper's, over removed cells only (root mean square over the range for
numbers, share of wrong classes), averaged over columns; its two halves; macro class error; columns that are worse
than the mean or mode by more than 2 %; seconds of one process with one thread. Observed cells must stay as they are.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from _imputers import IMPUTERS
from numpy.typing import NDArray

from evenhand import datasets
from evenhand.tables import Schema, TabularVAE
from evenhand.tables.frames import RawTable, read
from evenhand.tables.inference import column_errors, macro_class_errors, summary

SETS = ("diamonds", "hi", "rwm5yr", "labour", "adult")
Array = NDArray[np.float64]


def load(name: str) -> tuple[RawTable, Schema, pd.DataFrame]:
    """The table as a user has it: kinds are inferred, but for those whose numbers are labels."""
    frame = datasets.load(name).frame
    labels = {"rwm5yr": {"year": "categorical", "edlevel": "categorical"}}
    schema = Schema.infer(frame, labels.get(name, {}))
    return read(frame, schema), schema, frame


def evenhand(**options: object) -> Callable[[Array, Schema, int, pd.DataFrame], tuple[Array, str]]:
    def impute(values: Array, schema: Schema, seed: int, frame: pd.DataFrame) -> tuple[Array, str]:
        holes = frame.astype(object).where(~np.isnan(values))  # as a file with empty cells is read
        holes = holes.infer_objects()
        model = TabularVAE(schema=schema, random_state=seed, verbose=False, **options)  # type: ignore[arg-type]
        filled = read(model.fit_transform(holes), schema).values
        return filled, f"{model.method_}, KL x {model.kl_weight_:g}, {model.rate_:.1f} nats"

    return impute


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", help="names of imputers, such as 'Evenhand auto'")
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    ours = {
        "plain VAE": evenhand(method="sum", kl_weight=1.0),
        "Evenhand auto": evenhand(),
    }
    results: dict[str, dict[str, object]] = {}
    for name in args.sets:
        table, schema, frame = load(name)
        rng = np.random.default_rng(args.seed)
        removed = rng.random(table.values.shape) < 0.2
        removed[removed.all(1), 0] = False
        removed &= table.observed
        truth = np.where(table.observed, table.values, np.nan)
        holes = np.where(removed, np.nan, truth)
        print(f"\n{name}: {len(table)} rows, {len(schema)} columns")
        heads = f"{'error':>6} {'numbers':>8} {'classes':>8} {'macro':>6} {'worse than trivial':>19} {'seconds':>8}"
        print(f"{'':24} {heads}")
        trivial = None
        for method, impute in {**IMPUTERS, **ours}.items():
            if args.only and method not in args.only and method != "mean / mode":
                continue
            start, note = time.process_time(), ""
            if method in ours:
                filled, note = impute(holes, schema, args.seed, frame)
            else:
                filled = impute(holes, schema, args.seed)
            seconds = time.process_time() - start
            seen = ~np.isnan(holes)
            assert np.array_equal(filled[seen], holes[seen]), f"{method} changed observed cells"
            tensors = torch.tensor(truth), torch.tensor(filled), torch.tensor(removed)
            errors = column_errors(*tensors, schema)
            trivial = errors if trivial is None else trivial
            worse = [schema.names[d] for d in torch.nonzero(errors > 1.02 * trivial).flatten().tolist()]
            found = {k: float(v) for k, v in summary(errors, schema).items()}
            found["macro"] = float(macro_class_errors(*tensors, schema).nanmean())
            found["seconds"] = seconds
            results.setdefault(name, {})[method] = {
                **{k: round(v, 4) for k, v in found.items()},
                "columns": [round(e, 4) for e in errors.tolist()],
                "worse": worse,
                "note": note,
            }
            print(
                f"{method:24} {found['error']:6.3f} {found['numeric']:8.3f} {found['nominal']:8.3f} "
                f"{found['macro']:6.3f} {len(worse):19} {seconds:8.1f}  {note}{' ' + str(worse) if worse else ''}",
                flush=True,
            )
        if args.json:
            with open(args.json, "w") as file:
                json.dump({"seed": args.seed, "torch": torch.__version__, "results": results}, file)


if __name__ == "__main__":
    main()
