"""Bank under IWAE and DReG: how can validation rows know nothing of a test error of several ranges?

`pdays` is 999 in 96 % of the rows. GradNorm, chosen by validation, has errors of that column between 0.1 and 63 of
its ranges on test rows. Which rows are these, what are their parameters, and what is the error without them?

python paper/table1/riddles/pdays.py [--steps 6000] writes pdays.json beside it, and prints its rows: GradNorm with
DReG on Bank, three seeds, with the paper's natural parameters of a normal density and with mean and precision.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any

import torch
from _kept import keep
from torch import Tensor
from two_f import stack_of, train

from evenhand.impartial import method_of
from evenhand.lab._paper import table1_jobs
from evenhand.lab._splits import Splits, load
from evenhand.tables.families import Family
from evenhand.tables.inference import reconstruct
from evenhand.tables.stack import Best, Rows, Run, Stack

SEEDS = (0, 1, 2)
STEPS, CHECKS = 6000, 20
FAR = 0.1  # of the range


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for parameters in ("natural", "moments"):
        begin = time.monotonic()
        found[parameters] = measure(parameters, asked.steps)
        print(parameters, f"{time.monotonic() - begin:.0f} s", *found[parameters], sep="\n", flush=True)
        keep(
            Path(__file__).with_suffix(".json"),
            f"python paper/table1/riddles/pdays.py --steps {asked.steps}",
            steps=asked.steps,
            seeds=SEEDS,
            parameters=found,
        )


def measure(parameters: str, steps: int) -> list[dict[str, Any]]:
    """What is found at the best checkpoint of every seed."""
    config = table1_jobs(["bank"], ["vae-dreg"], n_seeds=len(SEEDS))[0]
    config = dataclasses.replace(config, model=dataclasses.replace(config.model, parameters=parameters))
    splits, seeds = Splits(load(config.data), config, "cpu"), list(SEEDS)
    stack = stack_of(config, splits, [Run(seed, method_of("gradnorm")) for seed in seeds])
    best = train(stack, splits, steps, CHECKS)
    return [about(stack, splits, best, seed) for seed in seeds]


def about(stack: Stack, splits: Splits, best: Best, seed: int) -> dict[str, Any]:
    """Errors of validation and test rows, and the rows whose guess of `pdays` is far out of its range."""
    column, seeds = splits.schema.names.index("pdays"), list(SEEDS)
    low, high = (limit[column] for limit in splits.limits)
    found: dict[str, Any] = {"seed": seed, "step": int(best.steps[seed])}
    for words, part in (("validation", 1), ("test", 2)):
        index = splits.index(part, seeds)
        guess = reconstruct(stack.model, splits.rows, index)
        errors = splits.errors(guess, part, seeds)[seed]
        kept = guess.clone()
        kept[..., column] = kept[..., column].clamp(low, high)
        off = torch.maximum(low - guess[seed, :, column], guess[seed, :, column] - high).clamp(min=0) / (high - low)
        deviation, far = deviations(stack.model, splits.rows, index)[seed], off > FAR
        found[words] = {
            "rows": len(off),
            "error": short(errors.nanmean()),
            "of pdays": short(errors[column]),
            "error with pdays within its range": short(splits.errors(kept, part, seeds)[seed].nanmean()),
            "rows far off": int(far.sum()),
            "furthest, in ranges": short(off.max()),
            "median deviation there": short(deviation[far].median()) if far.any() else None,
            "elsewhere": short(deviation[~far].median()),
        }
    return found


@torch.no_grad()
def deviations(model: Family, rows: Rows, index: Tensor) -> Tensor:
    """The standard deviation of p(pdays | z) at the mode of q(z|x), in units of the column's own, ``[R, n]``."""
    model.eval()
    inputs, _, known = rows.split(rows.record[index])
    eta = model.natural(model.decode(model.most_probable(model.look(rows.seen(inputs, known)))))
    normal, parameters = next(iter(model.likelihood.by_density(eta)))  # real columns are the first
    return normal.moments(parameters)[1].sqrt()[..., model.likelihood.names.index("pdays")].squeeze(1)


def short(x: Tensor) -> float:
    return float(f"{float(x):.3g}")


if __name__ == "__main__":
    main()
