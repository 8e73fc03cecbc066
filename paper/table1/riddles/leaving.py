"""Where do MGDA and IMTL-G leave? The gradients at the block and what is made of them, step by step, on one table.

python paper/table1/riddles/leaving.py writes leaving.json beside it: for rwm5yr, every seed with and without the
limit of norm restoration (a sum is made longer by 1 / eps at most), the first step after which weights are not
finite, and the first one with a validation error above 10, with gradients and weights of two heads at the block.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from evenhand import __version__
from evenhand.impartial import _gradients, method_of
from evenhand.lab._paper import table1_jobs
from evenhand.lab._splits import Splits, load
from evenhand.tables.inference import reconstruct
from evenhand.tables.stack import Run, Stack

LOOKED_AT = 25  # steps between looks at validation rows
FAR = 10.0  # an error of ten ranges


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", default="rwm5yr")
    parser.add_argument("--objective", default="elbo")
    parser.add_argument("--method", default="mgda")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    place = Path(__file__).with_suffix(".json")
    found = json.loads(place.read_text()) if place.is_file() else {"runs": {}}
    name = f"{asked.table}-{asked.objective}-{asked.method}"
    result = {
        words: follow(asked.table, asked.objective, asked.method, asked.steps, asked.seeds, limited, restored)
        for words, limited, restored in (
            ("without the limit", False, True),
            ("with the limit", True, True),
            ("not restored", True, False),
        )
    }
    found["runs"][name] = {"steps": asked.steps, **result}
    found |= {
        "command": f"python paper/table1/riddles/leaving.py --table {asked.table} --objective {asked.objective} "
        f"--method {asked.method} --steps {asked.steps} --seeds {asked.seeds}",
        "versions": {"evenhand": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "hardware": "CPU, one thread",
    }
    place.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(result, indent=1))


def follow(
    table: str, objective: str, method: str, steps: int, n: int, limited: bool, restored: bool
) -> list[dict[str, Any]]:
    """What happens to every seed."""
    config = table1_jobs([table], [f"vae-{objective}"], n_seeds=n)[0]
    splits, seeds = Splits(load(config.data), config, "cpu"), list(range(n))
    training = Stack(
        splits.network(seeds),
        [Run(seed, method_of(method), preserve_norm=restored) for seed in seeds],
        splits.rows,
        splits.index(0, seeds),
        objective=config.objective.name,
        n_samples=config.objective.n_samples,
        analytic_kl=False,
    )
    found: list[dict[str, Any]] = [{"seed": seed} for seed in seeds]
    best = [float("inf")] * n
    with ExitStack() as changed:
        if not limited:
            changed.enter_context(mock.patch.object(_gradients, "rescaling", without_limit(_gradients.rescaling)))
        for step in range(1, steps + 1):
            training.train(1)
            for seed in seeds:
                if "not finite" not in found[seed] and not finite(training, seed):
                    found[seed]["not finite"] = {"step": step, **at_the_block(training, seed)}
            if step % LOOKED_AT == 0:
                guess = reconstruct(training.model, splits.rows, splits.index(1, seeds))
                errors = splits.errors(guess, 1, seeds)
                for seed, error in enumerate(errors.nanmean(-1).tolist()):
                    best[seed] = min(best[seed], error if error == error else float("inf"))
                    if step > 4 * LOOKED_AT and not error <= FAR and "far" not in found[seed]:
                        worst = int(errors[seed].nan_to_num(nan=torch.inf).argmax())
                        column = splits.schema.columns[worst].name
                        about = {"step": step, "error": short(error), "worst column": column}
                        found[seed]["far"] = {**about, **at_the_block(training, seed)}
    for seed in seeds:
        found[seed]["lowest validation error"] = short(best[seed])
    return found


def finite(training: Stack, seed: int) -> bool:
    return all(bool(p[seed].isfinite().all()) for p in training.model.parameters())


def at_the_block(training: Stack, seed: int) -> dict[str, Any]:
    """The head with the largest weight and the one with the longest gradient."""
    reading, names = training.blocks[0].last, training.model.likelihood.names
    assert reading is not None
    norms, weights = reading.norms[seed], reading.weights[seed]
    heavy, long = int(weights.abs().nan_to_num(nan=torch.inf).argmax()), int(norms.nan_to_num(nan=0.0).argmax())

    def about(d: int) -> dict[str, Any]:
        return {"head": names[d], "norm": short(float(norms[d])), "weight": short(float(weights[d]))}

    return {"heaviest": about(heavy), "longest": about(long), "loss": short(float(training.loss[seed]))}


def without_limit(rescaling: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """As it was when the reports of table 1 were made: the length of the plain sum, however short the settled one."""

    def unlimited(
        wanted: torch.Tensor, square: torch.Tensor, gram: torch.Tensor, weights: torch.Tensor, where: Any
    ) -> torch.Tensor:
        terms = (weights * gram.diagonal(dim1=-2, dim2=-1) * weights).sum(-1)
        length = torch.maximum(square, terms * (gram.shape[-1] ** 2 * torch.finfo(gram.dtype).eps))
        factor = wanted.clamp(min=0).sqrt() / (length + (length == 0)).sqrt()
        return (factor if where is None else torch.where(where, factor, 1.0)).unsqueeze(-1)

    return unlimited


def short(x: float) -> float | None:
    return float(f"{x:.3g}") if x == x and abs(x) != float("inf") else None


if __name__ == "__main__":
    main()
