"""DReG settles the ways to the encoder and to the decoder apart, each with its own f. Does that matter against one?

Of the paper's methods only GradNorm remembers anything, so only there it can: one f that is shared learns from both
ways in turn, as in the published code. Same seeds, same noise, both GradNorms of the paper.

python paper/table1/riddles/two_f.py [--tables wine labour hi] writes two_f.json beside it, and prints its rows: test
errors of the best checkpoint by validation error, by method, for every seed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from _kept import keep
from wine import error

from evenhand.impartial import method_of
from evenhand.lab import TableExperiment
from evenhand.lab._paper import table1_jobs
from evenhand.lab._splits import Splits, load
from evenhand.tables.stack import Best, Run, Stack

TABLES = ("wine", "labour", "hi")
METHODS = ("gradnorm", "gradnorm-1")
SEEDS = (0, 1, 2)
STEPS, CHECKS = 3000, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--steps", type=int, default=STEPS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    place = Path(__file__).with_suffix(".json")
    found = json.loads(place.read_text())["tables"] if place.is_file() else {}
    for name in asked.tables:
        found[name] = {}
        for arm in ("two f", "one f"):
            begin = time.monotonic()
            found[name][arm] = measure(name, shared=arm == "one f", steps=asked.steps)
            print(name, arm, found[name][arm], f"{time.monotonic() - begin:.0f} s", flush=True)
        keep(place, "python paper/table1/riddles/two_f.py", steps=asked.steps, seeds=SEEDS, tables=found)


def measure(table: str, *, shared: bool, steps: int) -> dict[str, Any]:
    """Test errors by method, one for every seed."""
    config = table1_jobs([table], ["vae-dreg"], n_seeds=len(SEEDS))[0]
    splits = Splits(load(config.data), config, "cpu")
    pairs = [(method, seed) for method in METHODS for seed in SEEDS]
    seeds = [seed for _, seed in pairs]
    stack = stack_of(config, splits, [Run(seed, method_of(method)) for method, seed in pairs])
    if shared:
        encoder, decoder = stack.blocks
        decoder.method = encoder.method
    train(stack, splits, steps, CHECKS)
    errors = error(stack, splits, seeds, "test").tolist()
    return {
        method: [round(x, 4) for (m, _), x in zip(pairs, errors, strict=True) if m == method] for method in METHODS
    }


def stack_of(config: TableExperiment, splits: Splits, runs: list[Run]) -> Stack:
    """Untrained replicas with DReG."""
    return Stack(
        splits.network([run.seed for run in runs]),
        runs,
        splits.rows,
        splits.index(0, splits.seeds),
        objective="dreg",
        n_samples=config.objective.n_samples,
        batch_size=config.training.batch_size,
        dropout=config.training.dropout,
    )


def train(stack: Stack, splits: Splits, steps: int, checks: int) -> Best:
    """Train, and put back the weights with the lowest error on validation rows."""
    best = Best(stack)
    for _ in range(checks):
        stack.train(steps // checks)
        best.offer(error(stack, splits, [run.seed for run in stack.runs], "validation"))
    best.restore()
    return best


if __name__ == "__main__":
    main()
