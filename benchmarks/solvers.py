"""What a method costs on its own: milliseconds per problem, and how exact the answer is, beside TorchJD.

Problems are Gram matrices of T conflicting gradients whose norms spread over two decades, in single precision.
TorchJD solves one problem at a time; Evenhand a batch. The error is how far the answer violates
what defines it:

    MGDA         the duality gap |d|^2 - min_t <g_t, d>, in units of |d*|^2
    CAGrad       the duality gap of the worst head, in units of the mean gradient
    IMTL-G       the spread of the projections, in units of their mean
    Nash-MTL     max |w_t (G w)_t / mean - 1|
    UPGrad, Aligned-MTL   the distance to the answer in double precision, in units of its length

    python benchmarks/solvers.py [--rounds 20]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import torch
import torchjd.aggregation as jd
from _timing import Times
from torch import Tensor

from evenhand.impartial import IMTLG, MGDA, AlignedMTL, CAGrad, Method, NashMTL, PCGrad, UPGrad


def problem(batch: int, heads: int, seed: int = 0) -> Tensor:
    """Gradients [batch, T, n] of independent directions and very different norms."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(batch, heads, 4 * heads, generator=generator)
    return rows * 10 ** (2 * torch.rand(batch, heads, 1, generator=generator) - 1)


def error_of(name: str, rows: Tensor, weights: Tensor) -> float:
    """How far weights [T] violate what defines the method, for gradients [T, n]."""
    rows, weights = rows.double(), weights.double()
    total, heads = weights @ rows, len(rows)
    if name == "MGDA":
        total = total / weights.sum()
        best = MGDA()(rows).sum(0).square().sum()
        return ((total.square().sum() - (rows @ total).min()) / best).item()
    if name == "CAGrad":
        mean = rows.mean(0)
        pull = weights - 1 / heads
        point = (pull / pull.sum()) @ rows
        bound = point @ mean + 0.4 * mean.norm() * point.norm()
        return ((bound - (rows @ total).min()) / mean.square().sum()).abs().item()
    if name == "IMTLG":
        projections = (rows / rows.norm(dim=-1, keepdim=True)) @ total
        return ((projections.max() - projections.min()) / projections.mean()).abs().item()
    if name == "NashMTL":
        gains = weights * (rows @ total)
        return (gains / gains.mean() - 1).abs().max().item()
    exact = (UPGrad() if name == "UPGrad" else AlignedMTL())(rows).sum(0)
    scale = (exact @ total) / total.square().sum()  # TorchJD averages where Evenhand adds up
    return ((scale * total - exact).norm() / exact.norm()).item()


OURS: dict[str, Method] = {
    "MGDA": MGDA(),
    "CAGrad": CAGrad(0.4),
    "IMTLG": IMTLG(),
    "PCGrad": PCGrad(),
    "UPGrad": UPGrad(),
    "AlignedMTL": AlignedMTL(),
    "NashMTL": NashMTL(),
}


def weights_of(method: Method, gram: Tensor) -> Tensor:
    if hasattr(method, "weights"):
        return method.weights(gram)
    return method.mixing(gram).sum(-2)


def theirs(name: str, heads: int) -> Callable[[Tensor, Tensor], Tensor]:
    if name == "NashMTL":
        return lambda rows, gram: jd.NashMTL(heads)(rows)
    weighting = {
        "MGDA": jd.MGDAWeighting,
        "CAGrad": lambda: jd.CAGradWeighting(0.4),
        "IMTLG": jd.IMTLGWeighting,
        "PCGrad": jd.PCGradWeighting,
        "UPGrad": jd.UPGradWeighting,
        "AlignedMTL": jd.AlignedMTLWeighting,
    }[name]()
    return lambda rows, gram: weighting(gram)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    print(f"torch {torch.__version__}, one thread; milliseconds per problem, largest error of 8 problems\n")
    print(
        f"{'':12}{'T':>3}{'TorchJD':>10}{'B=1':>9}{'B=64':>9}{'B=1024':>9}{'error, TorchJD':>16}{'error, ours':>13}"
    )
    for heads in (3, 10, 50):
        for name in OURS:
            print(row(name, heads, args.rounds), flush=True)


def row(name: str, heads: int, rounds: int) -> str:
    """Time and error of one method at one size."""
    method, peer = OURS[name], theirs(name, heads)
    batches = {size: problem(size, heads) for size in (1, 64, 1024)}
    grams = {size: rows @ rows.mT for size, rows in batches.items()}
    sides = {
        "peer": lambda: peer(batches[1][0], grams[1][0]),
        "1": lambda: weights_of(method, grams[1][0]),
        "64": lambda: weights_of(method, grams[64]),
    }
    slow = name == "NashMTL" or (name == "UPGrad" and heads == 50)
    times = Times(sides, rounds=3 if slow else rounds)
    large = Times({"1024": lambda: weights_of(method, grams[1024])}, rounds=1)

    def worst(solve: Callable[[Tensor, Tensor], Tensor]) -> str:
        pairs = zip(batches[64][:8], grams[64][:8], strict=True)
        return f"{max(error_of(name, r, solve(r, g)) for r, g in pairs):.0e}"

    # PCGrad is random, and TorchJD's Nash-MTL tells no weights
    errors = "", ""
    if name != "PCGrad":
        errors = "-" if name == "NashMTL" else worst(peer), worst(lambda _, g: weights_of(method, g))
    return (
        f"{name:12}{heads:3}{times.ms('peer'):10.3f}{times.ms('1'):9.3f}{times.ms('64') / 64:9.4f}"
        f"{large.ms('1024') / 1024:9.4f}{errors[0]:>16}{errors[1]:>13}"
    )


if __name__ == "__main__":
    main()
