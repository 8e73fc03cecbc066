"""What a block costs: one training step with it, in units of one plain training step.

Two models: an encoder of half a million parameters with one linear head per task, and the paper's
VAE for tables (50 hidden units, heads vectorised). Every side runs in the same process and takes turns
with the others; the numbers are medians over rounds of ratios of processor time on one thread.

    python benchmarks/block_overhead.py [--rounds 60] [--heads 5 20 50] [--methods Sum IMTLG] [--only table]
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable

import torch
import torchjd.aggregation as jd
from _methods import METHODS
from _timing import Times
from torch import Tensor, nn
from torch.nn import functional as F
from torchjd.autojac import jac_to_grad, mtl_backward

from evenhand.impartial import Block, LinearBlock, Method, backward


def peers(heads: int) -> dict[str, Callable[[], nn.Module]]:
    """TorchJD's aggregators of the same name."""
    return {
        "Sum": jd.Sum,
        "MGDA": jd.MGDA,
        "IMTLG": jd.IMTLG,
        "CAGrad": lambda: jd.CAGrad(0.4),
        "PCGrad": jd.PCGrad,
        "GradDrop": jd.GradDrop,
        "NashMTL": lambda: jd.NashMTL(heads),
        "FairGrad": lambda: jd.FairGrad(1.0),
        "AlignedMTL": jd.AlignedMTL,
        "UPGrad": jd.UPGrad,
    }


class Network(nn.Module):
    """Half a million parameters, then one linear head per task."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 896), nn.ReLU(), nn.Linear(896, 32), nn.ReLU()
        )
        self.heads = nn.ModuleList(nn.Linear(32, 1) for _ in range(heads))
        self.x = torch.randn(128, 64)
        self.targets = torch.randn(heads, 128, 1) * 10 ** torch.linspace(-1, 1, heads).reshape(-1, 1, 1)

    def features(self) -> Tensor:
        return self.encoder(self.x)

    def losses(self, views: list[Tensor]) -> list[Tensor]:
        pairs = zip(self.heads, views, self.targets, strict=True)
        return [F.mse_loss(head(view), target) for head, view, target in pairs]


def network_sides(heads: int, name: str) -> dict[str, Callable[[], object]]:
    """One training step of each kind."""
    torch.manual_seed(0)
    net = Network(heads)
    optimizer = torch.optim.Adam(net.parameters(), fused=True)

    def step(differentiate: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            optimizer.zero_grad()
            differentiate()
            optimizer.step()

        return run

    def plain() -> None:
        y = net.features()
        torch.stack(net.losses([y] * heads)).sum().backward()

    block = Block(METHODS[name]())

    def ours() -> None:
        torch.stack(net.losses(list(block(net.features(), heads)))).sum().backward()

    method, method_at_parameters = METHODS[name](), METHODS[name]()

    def one_line() -> None:
        y = net.features()
        backward(net.losses([y] * heads), at=y, method=method)

    def one_line_at_parameters() -> None:
        y = net.features()
        backward(net.losses([y] * heads), at=net.encoder, method=method_at_parameters)

    linear = LinearBlock(METHODS[name](), range(heads))
    targets = net.targets.squeeze(-1).T.contiguous()
    fused_heads = nn.Linear(32, heads)
    fused_optimizer = torch.optim.Adam([*net.encoder.parameters(), *fused_heads.parameters()], fused=True)

    def fused(with_block: bool) -> Callable[[], object]:
        def run() -> None:
            fused_optimizer.zero_grad()
            y = net.features()
            if with_block:
                eta = linear(y, fused_heads.weight, fused_heads.bias)
            else:
                eta = fused_heads(y)
            (eta - targets).square().mean(0).sum().backward()
            fused_optimizer.step()

        return run

    def rep_grad() -> None:
        """A backward pass per head down to the features, then one through the encoder."""
        y = net.features()
        leaf = y.detach().requires_grad_()
        rows = []
        for loss in net.losses([leaf] * heads):
            loss.backward()
            rows.append(leaf.grad.flatten())
            leaf.grad = None
        y.backward(block.method(torch.stack(rows)).sum(0).reshape(y.shape))

    sides = {
        "plain": step(plain),
        "block": step(ours),
        "backward()": step(one_line),
        "backward(), parameters": step(one_line_at_parameters),
        "plain, one head matrix": fused(False),
        "fused block": fused(True),
        "rep_grad loop": step(rep_grad),
    }
    if name in peers(heads):
        aggregator = peers(heads)[name]()

        def at_features() -> None:
            y = net.features()
            leaf = y.detach().requires_grad_()
            shared = leaf * 1
            mtl_backward(net.losses([shared] * heads), features=shared, shared_params=[leaf])
            jac_to_grad([leaf], aggregator)
            y.backward(leaf.grad)

        def at_parameters() -> None:
            y = net.features()
            parameters = list(net.encoder.parameters())
            mtl_backward(net.losses([y] * heads), features=y, shared_params=parameters)
            jac_to_grad(parameters, aggregator)

        sides["TorchJD, features"] = step(at_features)
        sides["TorchJD, parameters"] = step(at_parameters)
    return sides


class TinyVAE(nn.Module):
    """The paper's VAE for a table: half of the columns categorical with 4 values, the others Gaussian."""

    def __init__(self, columns: int, method: Method | None) -> None:
        super().__init__()
        hidden, latent = 50, max(1, columns // 2)
        self.reals, self.categoricals = columns - columns // 2, columns // 2
        sizes = [columns, hidden, hidden, hidden]
        layers = [m for a, b in itertools.pairwise(sizes) for m in (nn.Linear(a, b), nn.Tanh())]
        self.encoder = nn.Sequential(nn.Dropout(0.1), nn.BatchNorm1d(columns), *layers)
        self.latent = nn.Linear(hidden, 2 * latent)
        sizes = [latent, hidden, hidden, hidden]
        layers = [m for a, b in itertools.pairwise(sizes) for m in (nn.Linear(a, b), nn.ReLU())]
        self.decoder = nn.Sequential(*layers)
        self.heads = nn.Linear(hidden, 2 * self.reals + 4 * self.categoricals)
        column = [*range(self.reals)] * 2 + [self.reals + c for c in range(self.categoricals) for _ in range(4)]
        self.block = None if method is None else LinearBlock(method, column)
        self.x = torch.randn(128, self.reals)
        self.codes = torch.randint(4, (128, self.categoricals))
        self.inputs = torch.cat([self.x, self.codes.to(self.x)], 1)

    def loss(self) -> Tensor:
        mean, raw = self.latent(self.encoder(self.inputs)).chunk(2, -1)
        scale = F.softplus(raw)
        z = mean + scale * torch.randn_like(mean)
        y = self.decoder(z)
        if self.block is None:
            eta = self.heads(y)
        else:
            eta = self.block(y, self.heads.weight, self.heads.bias)
        first, second, logits = eta.split([self.reals, self.reals, 4 * self.categoricals], -1)
        precision = F.softplus(second) + 1e-6
        gaussian = 0.5 * (precision.log() - precision * (self.x - first).square() - math.log(2 * math.pi))
        logits = logits.unflatten(-1, (self.categoricals, 4)).log_softmax(-1)
        categorical = logits.gather(-1, self.codes.unsqueeze(-1)).squeeze(-1)
        kl = 0.5 * (mean.square() + scale.square() - 1) - scale.log()
        return kl.sum() - gaussian.sum() - categorical.sum()


def vae_sides(columns: int, names: list[str]) -> dict[str, Callable[[], object]]:
    def training(method: Method | None) -> Callable[[], object]:
        torch.manual_seed(0)
        model = TinyVAE(columns, method)
        optimizer = torch.optim.Adam(model.parameters(), fused=True)

        def run() -> None:
            optimizer.zero_grad()
            model.loss().backward()
            optimizer.step()

        return run

    return {"plain": training(None), **{name: training(METHODS[name]()) for name in names}}


def print_table(args: argparse.Namespace) -> None:
    print("\nThe paper's VAE for tables, 50 hidden units, batch 128, fused block: ratio to plain training\n")
    print(f"{'':18}" + "".join(f"{f'D={d}':>10}" for d in (12, *args.heads)))
    tables = [Times(vae_sides(d, args.methods), rounds=5 * args.rounds) for d in (12, *args.heads)]
    print(f"{'plain, ms':18}" + "".join(f"{t.ms('plain'):10.2f}" for t in tables))
    for name in args.methods:
        print(f"{name:18}" + "".join(f"{t.ratio(name, 'plain'):10.2f}" for t in tables), flush=True)


def print_encoder(args: argparse.Namespace) -> None:
    columns = ["block", "fused block", "rep_grad loop", "backward()", "TorchJD, features"]
    columns += ["backward(), parameters", "TorchJD, parameters"]
    print("\nAn encoder of half a million parameters, batch 128: ratio to plain training of the same heads\n")
    print(f"{'':24}{'plain, ms':>10}" + "".join(f"{c:>24}" for c in columns))
    for heads in args.heads:
        for name in args.methods:
            slow = heads == 50 and name == "NashMTL"  # TorchJD's takes a second a call
            sides = network_sides(heads, name)
            if slow:
                sides = {k: v for k, v in sides.items() if "TorchJD" not in k}
            times = Times(sides, rounds=args.rounds)
            base = {c: "plain, one head matrix" if c == "fused block" else "plain" for c in columns}
            cells = [f"{times.ratio(c, base[c]):.2f}" if c in times else "-" for c in columns]
            print(f"D={heads:<4}{name:18}{times.ms('plain'):10.2f}" + "".join(f"{c:>24}" for c in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--heads", type=int, nargs="+", default=[5, 20, 50])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--only", choices=["table", "encoder"], help="one of the two models alone")
    args = parser.parse_args()
    torch.set_num_threads(1)

    print(f"torch {torch.__version__}, one thread, {args.rounds} rounds")
    if args.only != "encoder":
        print_table(args)
    if args.only != "table":
        print_encoder(args)


if __name__ == "__main__":
    main()
