"""`TabularVAE` as it comes, trees and all, on a CPU and on a GPU: seconds, and errors on removed cells.

    python benchmarks/estimator_gpu.py [--rows 10000] [--long 1000000] [--out report.json]

A made-up table of 8 numbers and 4 classes (`_made_up.py`) with 10 % of the cells removed. Learns from as many rows as
`--rows` says and fills half as many others. Error: root mean square over the range for numbers, share of wrong
classes, averaged over columns. `--long` also fits a table of 20 columns on the GPU, if there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _made_up import kinds, made_up
from sklearn import __version__ as sklearn_version

from evenhand.tables import TabularVAE

NUMBERS, CLASSES = 8, 4


def one(device: str, rows: int, threads: int, **options: Any) -> dict[str, Any]:
    """Fit, fill, and compare with the truth."""
    torch.set_num_threads(threads)
    train, gone = made_up(rows, NUMBERS, CLASSES)
    test, hidden = made_up(rows // 2, NUMBERS, CLASSES, seed=1)
    model = TabularVAE(schema=kinds(NUMBERS, CLASSES), device=device, random_state=0, verbose=False, **options)
    start = time.perf_counter()
    model.fit(np.where(gone, np.nan, train))
    fitted = time.perf_counter()
    filled = model.transform(np.where(hidden, np.nan, test))
    return {
        "device": device,
        "threads": threads,
        **options,
        "fit": round(fitted - start, 1),
        "transform": round(time.perf_counter() - fitted, 1),
        "steps": model.n_steps_,
        "error": round(_error(test, filled, hidden), 4),
        "mean or mode": round(_error(test, _constant(train, gone, test), hidden), 4),
    }


def long(device: str, rows: int) -> dict[str, Any]:
    """The time and the memory that a long table of 20 columns takes."""
    train, gone = made_up(rows, 12, 8)
    train[gone] = np.nan
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model = TabularVAE(schema=kinds(12, 8), device=device, random_state=0, verbose=False).fit(train)
    fitted = time.perf_counter()
    model.transform(train)
    return {
        "device": device,
        "rows": rows,
        "fit": round(fitted - start, 1),
        "transform": round(time.perf_counter() - fitted, 1),
        "GiB of memory at most": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "GiB with the table alone": round(before / 2**20, 2),
    }


def _constant(train: np.ndarray, gone: np.ndarray, test: np.ndarray) -> np.ndarray:
    columns = [train[~gone[:, d], d] for d in range(train.shape[1])]
    numbers, classes = columns[:NUMBERS], columns[NUMBERS:]
    guess = [c.mean() for c in numbers] + [np.bincount(c.astype(int)).argmax() for c in classes]
    return np.broadcast_to(np.array(guess), test.shape)


def _error(truth: np.ndarray, guess: np.ndarray, hidden: np.ndarray) -> float:
    errors = []
    for d, (x, y, scored) in enumerate(zip(truth.T, guess.T, hidden.T, strict=True)):
        wrong = (x[scored] != y[scored]).mean()
        errors.append(wrong if d >= NUMBERS else np.sqrt(np.mean((x - y)[scored] ** 2)) / np.ptp(x))
    return float(np.mean(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--long", type=int, default=0, help="rows of the long table; 0 for none")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    report: dict[str, Any] = {
        "command": f"python benchmarks/estimator_gpu.py --rows {args.rows} --long {args.long}",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "scikit-learn": sklearn_version,
        },
        "hardware": {"cores": os.cpu_count(), "gpu": torch.cuda.get_device_name() if cuda else None},
        "runs": [],
    }
    sides = [("cpu", 1)] + ([("cuda", 1)] if cuda else [])
    for device, threads in sides:
        for trees in (True, False):
            _keep(report, one(device, args.rows, threads, trees=trees), args.out)
    if args.long:
        _keep(report, long("cuda" if cuda else "cpu", args.long), args.out)


def _keep(report: dict[str, Any], found: dict[str, Any], out: Path | None) -> None:
    """Print and write what there is so far."""
    print(found, flush=True)
    report["runs"].append(found)
    if out is not None:
        out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
