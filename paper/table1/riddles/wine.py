"""Why is Wine with VAE-ELBO above the paper? One seed, plain training and GradNorm, one thing changed at a time.

python paper/table1/riddles/wine.py [--epochs 500] [--only base,raw] writes wine.json beside it, and prints its rows.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from _kept import keep

from evenhand.impartial import method_of
from evenhand.lab._paper import table1_jobs
from evenhand.lab._splits import Source, Splits, load
from evenhand.tables.inference import rates_and_bounds, reconstruct
from evenhand.tables.schema import Schema
from evenhand.tables.stack import Best, Run, Stack

PARTS = {"validation": 1, "test": 2}
CHECKS = 40
METHODS = ("sum", "gradnorm")
# what is changed: of the config by section, or by name below
VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "split 1": {"runs": {"seeds": (1,)}},
    "split 2": {"runs": {"seeds": (2,)}},
    "no dropout": {"training": {"dropout": 0.0}},
    "centred logarithms": {"data": {"positive": "centred"}},
    "raw positives at the encoder": {"inputs": "raw"},
    "published rule for zeros": {"zeros": "published"},
    "no batch normalisation": {"inputs": "standardised"},
    "latent 75 %": {"model": {"latent_share": 0.75}},
    "hidden 200": {"model": {"n_hidden": 200}},
    "batch 1024": {"training": {"batch_size": 1024}},
    "latent 75 %, hidden 200": {"model": {"latent_share": 0.75, "n_hidden": 200}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    place = Path(__file__).with_suffix(".json")
    found = json.loads(place.read_text()) if place.is_file() else {}
    rows = found.get("variants", {})
    for name in asked.only.split(",") if asked.only else VARIANTS:
        begin = time.monotonic()
        rows[name] = measure(VARIANTS[name], asked.epochs)
        print(name, rows[name], f"{time.monotonic() - begin:.0f} s", flush=True)
        command = f"python paper/table1/riddles/wine.py --epochs {asked.epochs}"
        keep(place, command, epochs=asked.epochs, variants=rows)


def measure(changes: dict[str, Any], epochs: int) -> dict[str, Any]:
    """Errors of both arms: at the best validation error, at the best likelihood, at the end; and by other ranges."""
    config = table1_jobs(["wine"], ["vae-elbo"], n_seeds=1)[0]
    for section in ("data", "model", "training", "runs"):
        config = replace(config, **{section: replace(getattr(config, section), **changes.get(section, {}))})
    source = load(config.data)
    if "zeros" in changes:
        source = with_published_zeros(source)
    splits = Splits(source, config, "cpu")
    if changes.get("inputs") == "raw":
        show_raw_positives(splits)
    seeds = list(config.runs.seeds) * len(METHODS)
    runs = [Run(seed, method_of(m)) for m in METHODS for seed in config.runs.seeds]
    network = splits.network(seeds)
    if changes.get("inputs") == "standardised":
        standardise_once(network, splits)
    training = Stack(
        network,
        runs,
        splits.rows,
        splits.index(0, splits.seeds),
        analytic_kl=False,
        batch_size=config.training.batch_size,
        dropout=config.training.dropout,
    )
    by_error, by_likelihood = Best(training), Best(training)
    every = max(1, epochs * training.steps_per_epoch // CHECKS)
    for _ in range(CHECKS):
        training.train(every)
        by_error.offer(error(training, splits, seeds, "validation"))
        by_likelihood.offer(-likelihood(training, splits, seeds))
    result = {"last": error(training, splits, seeds, "test").tolist()}
    by_likelihood.restore()
    result["best likelihood"] = error(training, splits, seeds, "test").tolist()
    by_error.restore()
    result["best error"] = error(training, splits, seeds, "test").tolist()
    result["range of the whole table"] = error(training, splits, seeds, "test", whole=True).tolist()
    rate = rates_and_bounds(training.model, splits.rows, splits.index(2, seeds))[0].mean(-1)
    result["rate"] = rate.tolist()
    result["steps"] = by_error.steps.tolist()
    return {k: [round(x, 4) if math.isfinite(x) else None for x in v] for k, v in result.items()}


def error(training: Stack, splits: Splits, seeds: list[int], part: str, *, whole: bool = False) -> torch.Tensor:
    """The mean error over columns of every replica."""
    guess = reconstruct(training.model, splits.rows, splits.index(PARTS[part], seeds))
    found = splits.errors(guess, PARTS[part], seeds)
    if whole:  # the range of all rows instead of that of the rows at hand
        limits = splits.limits[1] - splits.limits[0]
        for r, seed in enumerate(seeds):
            truth = splits.truth[torch.tensor(splits.parts[splits.seeds.index(seed)][PARTS[part]])]
            here = truth.amax(0) - truth.amin(0)
            numeric = torch.tensor([column.kind.numeric for column in splits.schema])
            found[r] *= torch.where(numeric, here / limits, 1.0)
    return found.nanmean(-1)


def likelihood(training: Stack, splits: Splits, seeds: list[int]) -> torch.Tensor:
    """Mean log p(x|z) of validation rows at samples of q(z|x)."""
    index = splits.index(VALIDATION_PART, seeds)
    return rates_and_bounds(training.model, splits.rows, index, generator=torch.Generator().manual_seed(0))[2].sum(-1)


VALIDATION_PART = PARTS["validation"]


def with_published_zeros(source: Source) -> Source:
    """Every positive column is raised to a random small number, as the published code does."""
    columns = [replace(c, zero_offset="published") if c.kind == "positive" else c for c in source.schema]
    return replace(source, schema=Schema(tuple(columns)))


def show_raw_positives(splits: Splits) -> None:
    """The encoder sees numbers, not their logarithms."""
    record, n = splits.rows.record, splits.n
    likelihood = splits.preparation.likelihood()
    for s, units in enumerate(splits.preparation.preprocessings):
        for i, inner in enumerate(splits.rows.owners.tolist()):
            d = likelihood.order[inner]
            if splits.schema.columns[d].kind == "positive":
                rows = slice(s * n, (s + 1) * n)
                record[rows, i] = torch.exp(record[rows, i] * float(units.scale[d]) + float(units.centre[d]))


def standardise_once(network: Any, splits: Splits) -> None:
    """Inputs are standardised by all training rows, and the batch normalisation after that is the identity."""
    train = splits.rows.record[splits.index(0, splits.seeds).flatten()]
    n = splits.rows.n_inputs
    mean, deviation = train[:, :n].mean(0), train[:, :n].std(0).clamp(min=1e-6)
    splits.rows.record[:, :n] = (splits.rows.record[:, :n] - mean) / deviation
    network.normalise.forward = lambda inputs: inputs


if __name__ == "__main__":
    main()
