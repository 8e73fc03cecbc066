"""A long table from a Parquet file and back: seconds, and the most memory that is in use at any time.

    python benchmarks/long_table.py [--lengths 250000 1000000] [--rows 200000] [--seconds 60] [--out report.json]

Writes a made-up table of 12 numbers and 8 classes (`_made_up.py`) with 10 % of the cells missing to a folder that is
removed afterwards, then, in a process of its own for every length, does what `evenhand impute --rows` does: draws
rows, learns from them, and fills the file part by part. `--seconds` limits the training. One thread.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}  # before anything that starts threads

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _made_up import made_up

NUMBERS, CLASSES, PART = 12, 8, 50_000


def write(path: Path, rows: int) -> None:
    """The table, part by part."""
    writer = None
    for part in range(0, rows, PART):
        values, gone = made_up(min(PART, rows - part), NUMBERS, CLASSES, seed=part)
        columns = {f"n{d}": pa.array(values[:, d], mask=gone[:, d]) for d in range(NUMBERS)}
        for d in range(NUMBERS, NUMBERS + CLASSES):
            words = np.array(list("abcde"))[values[:, d].astype(int)]
            columns[f"c{d}"] = pa.array(words, mask=gone[:, d])
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def fill(path: Path, rows: int, seconds: float | None) -> dict[str, Any]:
    """What it takes to learn from some rows and to fill all of them."""
    import torch

    from evenhand.tables import TabularVAE, fill_parquet, sample_parquet

    torch.set_num_threads(1)
    marks, begin = {"imports": _memory()}, (time.perf_counter(), time.process_time())
    model = TabularVAE(random_state=0, verbose=False, max_seconds=seconds).fit(sample_parquet(path, rows))
    marks["fit"], fitted = _memory(), (time.perf_counter(), time.process_time())
    filled = fill_parquet(path, path.with_name("filled.parquet"), model.transform)
    marks["filled"], end = _memory(), (time.perf_counter(), time.process_time())
    return {
        "cells filled": filled,
        "steps": model.n_steps_,
        "seconds to fit": round(fitted[0] - begin[0], 1),
        "of the processor": round(fitted[1] - begin[1], 1),
        "seconds to fill": round(end[0] - fitted[0], 1),
        "of the processor, to fill": round(end[1] - fitted[1], 1),
        "MiB at most, after": marks,
        "left": pq.read_table(path.with_name("filled.parquet"), columns=["n0", "c12"])["n0"].null_count,
    }


def _memory() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _in_a_process(path: Path, rows: int, seconds: float | None) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(fill, (path, rows, seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--rows", type=int, default=200_000, help="to learn from")
    parser.add_argument("--seconds", type=float, help="that training may take")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lengths = " ".join(map(str, args.lengths))
    report: dict[str, Any] = {
        "command": f"python benchmarks/long_table.py --lengths {lengths} --rows {args.rows} --seconds {args.seconds}",
        "machine": f"one thread, {platform.machine()}, Python {platform.python_version()}",
        "runs": {},
    }
    for length in args.lengths:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "long.parquet"
            write(path, length)
            report["runs"][str(length)] = _in_a_process(path, args.rows, args.seconds)
        print(length, report["runs"][str(length)], flush=True)
        if args.out is not None:
            args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
