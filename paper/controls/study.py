"""Vanilla against impartial training, with the controls that the paper lacks.

    python paper/controls/study.py prepare --tables DIR            # the data sets as arrays, from EVENHAND_DATA
    python paper/controls/study.py run --tables DIR                # all runs of a data set in one stack; a JSON each
    python paper/controls/study.py quality --tables DIR            # adds the quality of generated rows
    python paper/controls/study.py table                           # the committed reports as one table and a figure

For every data set, 15 choices of f (the paper's), plain training at KL weights 1 to 0.01, and the 15 choices without
norm restoration, with 5 seeds each: 70 / 10 / 20 splits by seed, the paper's networks and settings, the checkpoint
with the lowest validation error. For each the report has the paper's error on test rows (by column), the rate in
nats, an importance-weighted likelihood (K = 100) in original units, the error on cells hidden from the encoder
(20 %), and, for those that the table shows, the quality of generated rows.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from evenhand.data import Preprocessing, RawTable, completely_at_random
from evenhand.estimators._candidates import PAPER, method_of
from evenhand.evaluation import (
    LatentMixture,
    column_errors,
    encode,
    expectations,
    log_likelihood,
    quality,
    rates_and_bounds,
    reconstruct,
)
from evenhand.impartial import Method, Sum
from evenhand.likelihoods import TableLikelihood
from evenhand.models import VAE, Latent
from evenhand.schema import Schema
from evenhand.training import Best, Rows, Run, Stack

SETS = {"hi": 400, "labour": 400, "rwm5yr": 400, "wine": 2000}  # epochs
SEEDS = range(5)
KL_WEIGHTS = (1.0, 0.3, 0.1, 0.03, 0.01)
CHECKS = 40  # validations in a run
LABELS = {
    "sum": "vanilla",
    "gradnorm": "GradNorm 0",
    "gradnorm-1": "GradNorm 1",
    "mgda": "MGDA",
    "imtlg": "IMTL-G",
    "graddrop": "GradDrop",
    "pcgrad": "PCGrad",
}


def choices() -> dict[str, Method]:
    """The paper's 15 choices of f; the first is plain training."""
    return {" >> ".join(LABELS[step] for step in name.split(">>")): method_of(name) for name in PAPER}


def prepare(folder: Path, names: Sequence[str]) -> None:
    from evenhand.data import datasets, read

    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        data = datasets.load(name)
        table = read(data.frame, data.schema)
        np.savez_compressed(folder / f"{name}.npz", values=table.values, observed=table.observed)
        (folder / f"{name}.toml").write_text(data.schema.to_toml())
        print(name, table.values.shape)


def load(folder: Path, name: str) -> tuple[RawTable, Schema]:
    arrays = np.load(folder / f"{name}.npz")
    schema = Schema.from_toml((folder / f"{name}.toml").read_text())
    return RawTable(arrays["values"], arrays["observed"]), schema


class Splits:
    """The table preprocessed for the split of every seed, one below the other on the device."""

    def __init__(self, table: RawTable, schema: Schema, seeds: Sequence[int], device: str) -> None:
        self.schema, self.seeds, n = schema, list(seeds), len(table)
        self.parts = []
        for seed in seeds:
            order = np.random.default_rng(seed).permutation(n)
            self.parts.append(np.split(order, [int(0.7 * n), int(0.8 * n)]))
        self.preprocessings = [
            Preprocessing.fit(table.rows(p[0]), schema, seed=s) for s, p in zip(seeds, self.parts, strict=True)
        ]
        batches = [p.encode(table) for p in self.preprocessings]
        first = TableLikelihood(schema, self.preprocessings[:1])
        self.rows = Rows.join([Rows.encode(b, first, encoding="codes") for b in batches]).to(device)
        pairs = zip(batches, self.preprocessings, strict=True)
        self.base = torch.cat([first.base(b.values, p) for b, p in pairs]).to(device)
        truth = np.where(table.observed, table.values, np.nan)
        self.truth = torch.tensor(truth, device=device)
        self.n, self.device = n, device

    def index(self, part: int, replica_seeds: Sequence[int]) -> Tensor:
        """Rows of a part of the split (0 train, 1 validation, 2 test) for every replica."""
        rows = [self.seeds.index(s) * self.n + self.parts[self.seeds.index(s)][part] for s in replica_seeds]
        return torch.tensor(np.stack(rows), device=self.device)

    def errors(self, guess: Tensor, part: int, replica_seeds: Sequence[int], scored: Tensor | None = None) -> Tensor:
        """The paper's error of every replica and column."""
        found = torch.empty(len(guess), guess.shape[-1], dtype=torch.float64, device=self.device)
        for s, seed in enumerate(self.seeds):
            mine = [r for r, other in enumerate(replica_seeds) if other == seed]
            truth = self.truth[torch.tensor(self.parts[s][part], device=self.device)]
            cells = torch.isfinite(truth) if scored is None else torch.isfinite(truth) & scored
            if mine:
                found[mine] = column_errors(truth, guess[mine], cells, self.schema)
        return found


def build(splits: Splits, runs: Sequence[Run]) -> VAE:
    seeds = [run.seed for run in runs]
    likelihood = TableLikelihood(splits.schema, [splits.preprocessings[splits.seeds.index(s)] for s in seeds])
    n_latent = max(1, int(0.5 * len(splits.schema) + 0.5))  # half the number of columns, rounded up
    return VAE(splits.rows.n_inputs, likelihood, seeds=seeds, n_latent=n_latent).to(splits.device)


def train(splits: Splits, runs: Sequence[Run], epochs: int, *, compile_step: bool) -> tuple[Stack, Tensor]:
    """A stack with the best checkpoint of every run, and their validation errors."""
    seeds = [run.seed for run in runs]
    first = splits.index(0, list(dict.fromkeys(seeds)))
    stack = Stack(
        build(splits, runs), runs, splits.rows, first, analytic_kl=False, compile_step=compile_step, batch_size=128
    )
    best, validation = Best(stack), splits.index(1, seeds)
    every = max(1, epochs // CHECKS)
    for _ in range(0, epochs, every):
        stack.train(every * stack.steps_per_epoch)
        guess = reconstruct(stack.model, splits.rows, validation)
        best.offer(splits.errors(guess, 1, seeds).nan_to_num(nan=torch.inf).mean(-1))
    best.restore()
    return stack, best.scores


def evaluate(splits: Splits, stack: Stack) -> dict[str, Tensor]:
    seeds = [run.seed for run in stack.runs]
    test = splits.index(2, seeds)
    generator = torch.Generator(splits.device).manual_seed(0)
    model, rows = stack.model, splits.rows
    columns = splits.errors(reconstruct(model, rows, test), 2, seeds)
    rate, bound, _ = rates_and_bounds(model, rows, test, generator=generator)
    base = (splits.base * rows.split(rows.record)[2]).sum(-1)[test]
    density = log_likelihood(model, rows, test, splits.base, n_samples=100, generator=generator)
    hidden = torch.tensor(
        completely_at_random((test.shape[-1], len(splits.schema)), 0.2, seed=0), device=splits.device
    )
    visible = ~hidden[:, model.likelihood.order]
    mode = splits.errors(reconstruct(model, rows, test, visible), 2, seeds, hidden)
    mean = expectations(model, rows, test, visible, n_samples=20, generator=generator)
    mean_errors = splits.errors(model.likelihood.decide(mean), 2, seeds, hidden)
    return {
        "columns": columns,
        "error": columns.mean(-1),
        "rate": rate.mean(-1),
        "elbo": (bound + base).mean(-1),
        "log_likelihood": density.mean(-1),
        "log_likelihood_median": density.median(-1).values,
        "hidden_mode": mode.mean(-1),
        "hidden": mean_errors.mean(-1),
    }


def run(folder: Path, out: Path, names: Sequence[str], epochs: float, seeds: Sequence[int], device: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        started = time.time()
        table, schema = load(folder, name)
        splits = Splits(table, schema, seeds, device)
        length = max(1, int(SETS.get(name, 400) * epochs))
        methods = choices()
        plan = [(n, m, w, True) for n, m in methods.items() for w in (KL_WEIGHTS if n == "vanilla" else (1.0,))]
        plan += [(n, m, 1.0, False) for n, m in methods.items() if n != "vanilla"]
        runs = [Run(s, m, kl_weight=w, preserve_norm=p) for _, m, w, p in plan for s in seeds]
        stack, validation = train(splits, runs, length, compile_step=device == "cuda")
        trained = time.time() - started
        rows = _group({**evaluate(splits, stack), "validation": validation}, plan, len(seeds))
        report = {
            "data": name,
            "rows": len(table),
            "columns": schema.names,
            "kinds": [str(kind) for kind in schema.kinds],
            "command": f"python paper/controls/study.py run --sets {name} --epochs {epochs:g}",
            "epochs": length,
            "seeds": list(seeds),
            "seconds": {"training": round(trained, 1), "all": round(time.time() - started, 1)},
            "versions": {"torch": torch.__version__, "numpy": np.__version__, "python": platform.python_version()},
            "hardware": torch.cuda.get_device_name() if device == "cuda" else platform.processor() or "CPU",
            "results": rows,
        }
        _write(out / f"{name}.json", report)
        # what the table shows is generated from later: the weights of these runs are kept for that
        shown = [r for i in _shown(rows) for r in range(i * len(seeds), (i + 1) * len(seeds))]
        weights = {k: v[shown].cpu().numpy() for k, v in stack.model.state_dict().items()}
        (out / "weights").mkdir(exist_ok=True)
        np.savez_compressed(out / "weights" / f"{name}.npz", shown=_shown(rows), **weights)
        print(f"{name}: {len(runs)} runs of {length} epochs in {trained:.0f} s, {time.time() - started:.0f} s in all")


def add_quality(folder: Path, out: Path, names: Sequence[str]) -> None:
    """Quality of rows generated from a Gaussian mixture of 100 components, against test rows."""
    for name in names:
        report = json.loads((out / f"{name}.json").read_text())
        table, schema = load(folder, name)
        splits = Splits(table, schema, report["seeds"], "cpu")
        weights = dict(np.load(out / "weights" / f"{name}.npz"))
        for k, i in enumerate(weights.pop("shown").tolist()):
            found = []
            for s, seed in enumerate(report["seeds"]):
                model = build(splits, [Run(seed, Sum())])
                r = k * len(report["seeds"]) + s
                model.load_state_dict({n: torch.tensor(w[r : r + 1]) for n, w in weights.items()})
                found.append(_generate(splits, model, seed))
            for key in found[0]:
                report["results"][i][key] = [_short(f[key]) for f in found]
            print(name, report["results"][i]["f"], report["results"][i]["quality"], flush=True)
        _write(out / f"{name}.json", report)


def _generate(splits: Splits, model: VAE, seed: int) -> dict[str, float]:
    generator = torch.Generator().manual_seed(seed)
    codes = encode(model, splits.rows, splits.index(0, [seed])[0], generator=generator)[0].numpy()
    truth = splits.truth[torch.tensor(splits.parts[splits.seeds.index(seed)][2])].numpy()
    z = LatentMixture(100).fit(codes, seed).sample(len(truth), np.random.default_rng(seed))
    latent = Latent(torch.tensor(z, dtype=torch.float32)[None, None], *[torch.zeros(1)] * 3)
    with torch.no_grad():
        rows = model.likelihood.sample(model.natural(model.eval().decode(latent)), generator)[0, 0].numpy()
    found = quality(truth, rows, splits.schema)
    return {"quality": found.score, "coverage": found.coverage}


def _write(path: Path, report: dict) -> None:
    path.write_text(json.dumps(report, separators=(",", ":")) + "\n")


def _group(results: dict[str, Tensor], plan: Sequence[tuple[str, Method, float, bool]], n: int) -> list[dict]:
    """One row for every choice of f and KL weight, with a list over seeds for every measure."""
    rows = []
    for i, (name, _, weight, restored) in enumerate(plan):
        mine = {k: v[i * n : (i + 1) * n] for k, v in results.items()}
        numbers = {k: [_short(x) for x in v.tolist()] for k, v in mine.items() if v.ndim == 1}
        columns = [[_short(x) for x in row] for row in mine["columns"].tolist()]
        rows.append({"f": name, "kl_weight": weight, "restored": restored, **numbers, "columns": columns})
    return rows


def _shown(rows: list[dict]) -> list[int]:
    """Plain training at all KL weights, and the best impartial choices by mean validation error."""
    plain = [i for i, r in enumerate(rows) if r["f"] == "vanilla"]

    def best(restored: bool, number: int) -> list[int]:
        mine = [i for i, r in enumerate(rows) if r["f"] != "vanilla" and r["restored"] == restored]
        return sorted(mine, key=lambda i: sum(rows[i]["validation"]))[:number]

    return plain + best(True, 2) + best(False, 1)


def _short(x: float) -> float:
    return float(f"{x:.5g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "run", "quality", "table"])
    parser.add_argument("--tables", type=Path, default=Path("build/tables"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "reports")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--epochs", type=float, default=1.0, help="as a share of the paper's number of epochs")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    if args.what == "prepare":
        prepare(args.tables, args.sets)
    elif args.what == "run":
        run(args.tables, args.out, args.sets, args.epochs, range(args.seeds), args.device)
    elif args.what == "quality":
        add_quality(args.tables, args.out, args.sets)
    else:
        from _table import show

        show(args.out)


if __name__ == "__main__":
    main()
