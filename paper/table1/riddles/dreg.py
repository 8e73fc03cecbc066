"""DReG has two blocks, on the ways to the encoder and to the decoder. Does it matter that each has an f of its own?

python paper/table1/riddles/dreg.py [--tables labour wine rwm5yr] [--steps 1200] writes dreg.json beside it. The
published code has one f for both. Only GradNorm remembers anything from one step to the next, so it alone can tell.
Test errors at the best checkpoint by validation error, GradNorm with alpha = 0 and 1, K = 20.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import replace
from pathlib import Path

import torch
from wine import error

from evenhand import __version__
from evenhand.impartial import method_of
from evenhand.lab._paper import table1_jobs
from evenhand.lab._splits import Splits, load
from evenhand.tables.stack import Best, Run, Stack

METHODS = ("gradnorm", "gradnorm-1")
SEEDS, CHECKS = (0, 1), 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=["labour", "wine", "rwm5yr"])
    parser.add_argument("--steps", type=int, default=1200)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    place = Path(__file__).with_suffix(".json")
    found = json.loads(place.read_text())["tables"] if place.is_file() else {}
    for table in asked.tables:
        for shared in (False, True):
            begin = time.monotonic()
            row = measure(table, asked.steps, shared=shared)
            found.setdefault(table, {})["one f" if shared else "two f"] = row
            print(table, "one f" if shared else "two f", row, f"{time.monotonic() - begin:.0f} s", flush=True)
        about = {
            "command": f"python paper/table1/riddles/dreg.py --steps {asked.steps}",
            "versions": {"evenhand": __version__, "torch": torch.__version__, "python": platform.python_version()},
            "hardware": "CPU, one thread",
        }
        place.write_text(json.dumps({**about, "tables": found}, indent=1) + "\n")


def measure(table: str, steps: int, *, shared: bool) -> dict[str, list[float]]:
    """Test errors of every method, one for each seed."""
    config = table1_jobs([table], ["vae-dreg"], n_seeds=len(SEEDS))[0]
    config = replace(config, runs=replace(config.runs, seeds=SEEDS))
    splits = Splits(load(config.data), config, "cpu")
    runs = [Run(seed, method_of(method)) for method in METHODS for seed in SEEDS]
    seeds = [run.seed for run in runs]
    training = config.training
    stack = Stack(
        splits.network(seeds),
        runs,
        splits.rows,
        splits.index(0, splits.seeds),
        objective="dreg",
        n_samples=config.objective.n_samples,
        batch_size=training.batch_size,
        dropout=training.dropout,
    )
    if shared:
        for_encoder, for_decoder = stack.blocks
        for_decoder.method = for_encoder.method
    best = Best(stack)
    for _ in range(CHECKS):
        stack.train(steps // CHECKS)
        best.offer(error(stack, splits, seeds, "validation"))
    best.restore()
    errors = error(stack, splits, seeds, "test").view(len(METHODS), len(SEEDS))
    return {method: [round(x, 4) for x in of.tolist()] for method, of in zip(METHODS, errors, strict=True)}


if __name__ == "__main__":
    main()
