"""What R stacked replicas cost, against one model of ordinary PyTorch: a loop over `torch.distributions` heads, Adam.

    python benchmarks/stacking.py [--device cuda] [--replicas 1 15 60 75] [--json FILE]

Columns as in Adult (12: 3 positive, 2 counts, 1 binary, 6 of 5 to 16 categories), the paper's networks, batch 128,
random values (times do not depend on them). Replicas share the paper's 15 choices of f, 5 seeds or more.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evenhand.impartial import PAPER_METHODS, Method, Sum, method_of
from evenhand.tables import Column, Kind, Schema
from evenhand.tables.families import FAMILIES, FamilyName, Sizes
from evenhand.tables.frames import RawTable
from evenhand.tables.kinds import Preprocessing, TableLikelihood
from evenhand.tables.stack import Rows, Run, Stack

N, BATCH, HIDDEN, LATENT = 20_000, 128, 50, 6
SIZES = [7, 16, 7, 14, 6, 5]


def table(seed: int = 0) -> tuple[RawTable, Schema]:
    rng = np.random.default_rng(seed)
    columns = [Column(f"pos{i}", Kind.POSITIVE) for i in range(3)] + [
        Column(f"count{i}", Kind.COUNT) for i in range(2)
    ]
    columns += [Column("bin", Kind.BINARY, (0, 1))]
    columns += [Column(f"cat{i}", Kind.CATEGORICAL, tuple(range(size))) for i, size in enumerate(SIZES)]
    parts = [np.exp(rng.normal(size=(N, 3))), rng.poisson(20, (N, 2)), rng.integers(0, 2, (N, 1))]
    parts += [rng.integers(0, size, (N, 1)) for size in SIZES]
    values = np.concatenate(parts, 1).astype(float)
    return RawTable(values, np.ones(values.shape, bool)), Schema(tuple(columns))


class OrdinaryVAE(nn.Module):
    """What one would write by hand: a module for every head, a distribution for every column."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        sizes = [n_inputs, HIDDEN, HIDDEN, HIDDEN]
        pairs = list(pairwise(sizes))
        layers = [m for a, b in pairs for m in (nn.Linear(a, b), nn.Tanh())]
        self.encoder = nn.Sequential(
            nn.Dropout(0.1), nn.BatchNorm1d(n_inputs), *layers, nn.Linear(HIDDEN, 2 * LATENT)
        )
        pairs[0] = (LATENT, HIDDEN)
        self.decoder = nn.Sequential(*[m for a, b in pairs for m in (nn.Linear(a, b), nn.ReLU())])
        self.heads = nn.ModuleList(nn.Linear(HIDDEN, width) for width in [2] * 3 + [1] * 3 + SIZES)

    def loss(self, x: Tensor) -> Tensor:
        mean, raw = self.encoder(x).chunk(2, -1)
        q = torch.distributions.Normal(mean, F.softplus(raw) + 1e-6)
        z = q.rsample()
        y = self.decoder(z)
        total = (q.log_prob(z) - torch.distributions.Normal(0.0, 1.0).log_prob(z)).sum(-1)
        for d, head in enumerate(self.heads):
            total = total - self._density(d, head(y)).log_prob(x[:, d])
        return total.mean()

    def _density(self, d: int, raw: Tensor) -> torch.distributions.Distribution:
        if d < 3:
            second = -F.softplus(raw[:, 1]) - 1e-4
            return torch.distributions.Normal(-raw[:, 0] / (2 * second), (-0.5 / second).sqrt())
        if d < 5:
            return torch.distributions.Poisson(raw[:, 0].exp())
        if d < 6:
            return torch.distributions.Bernoulli(logits=raw[:, 0])
        return torch.distributions.Categorical(logits=raw)


def ordinary(values: Tensor) -> Callable[[], None]:
    model = OrdinaryVAE(values.shape[1]).to(values.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        x = values[torch.randint(len(values), (BATCH,), device=values.device)]
        optimizer.zero_grad()
        model.loss(x).backward()
        optimizer.step()

    return step


def methods() -> list[Method]:
    """The paper's 15 choices, neighbours sharing their second step."""
    second = sorted(PAPER_METHODS, key=lambda name: (name.endswith("graddrop"), name.endswith("pcgrad")))
    return [method_of(name) for name in second]


def stacked(replicas: int, device: str, *, mixed: bool = True, family: FamilyName = "vae", **options: Any) -> Stack:
    """A stack of the paper's choices of f, or of plain training; options are those of `Stack`."""
    raw, schema = table()
    preprocessing = Preprocessing.fit(raw, schema)
    likelihood = TableLikelihood(schema, [preprocessing])
    encoding = FAMILIES[family].encoding or "codes"
    rows = Rows.encode(preprocessing.encode(raw), likelihood, encoding=encoding).to(device)
    choices = methods()
    per_choice = -(-replicas // len(choices))
    if replicas == 1 or not mixed:
        runs = [Run(seed, Sum()) for seed in range(replicas)]
    else:
        runs = [Run(seed, method) for method in choices for seed in range(per_choice)][:replicas]
    sizes = Sizes(n_latent=LATENT, n_hidden=HIDDEN)
    model = FAMILIES[family].build(rows.n_inputs, likelihood, [r.seed for r in runs], sizes)
    seeds = len({run.seed for run in runs})
    analytic = model.analytic_kl
    return Stack(model, runs, rows, torch.arange(len(rows)).repeat(seeds, 1), analytic_kl=analytic, **options)


def milliseconds(step: Callable[[], None], steps: int, device: str) -> float:
    for _ in range(8):
        step()
    times = []
    for _ in range(5):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / steps * 1e3)
    return float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 15, 60, 75])
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    steps = 200 if args.device == "cuda" else 20
    raw, schema = table()
    encoded = Preprocessing.fit(raw, schema).encode(raw).values
    plain = milliseconds(ordinary(encoded.to(args.device)), steps, args.device)
    print(f"one ordinary model: {plain:.2f} ms a step on {args.device}\n")
    print(f"{'R':>5} {'':10} {'ms a step':>10} {'against one':>12} {'replica-steps/s':>16}")
    results = {"ordinary": plain}
    for replicas in args.replicas:
        for name in ("graph", "compiled", "TF32") if args.device == "cuda" else ("eager",):
            torch.backends.cuda.matmul.fp32_precision = "tf32" if name == "TF32" else "ieee"
            stack = stacked(replicas, args.device, compile_step=name in ("compiled", "TF32"))
            ms = milliseconds(lambda stack=stack: stack.train(1), steps, args.device)
            print(f"{replicas:5} {name:10} {ms:10.3f} {ms / plain:12.2f} {replicas / ms * 1e3:16.0f}", flush=True)
            results[f"{replicas} {name}"] = ms
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"milliseconds": results, "device": args.device, "torch": torch.__version__}, file)


if __name__ == "__main__":
    main()
