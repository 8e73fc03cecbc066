"""The one-launch kernels beside the torch solvers they replace, on a CUDA device with Triton.

From a Gram matrix to the weights (MGDA, IMTL-G) or the mixing matrix (PCGrad in a given order, CAGrad, UPGrad),
captured in a CUDA graph. First both sides must agree, on easy and on hard problems, or nothing is timed.

    python benchmarks/kernels.py
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from evenhand.impartial import IMTLG, MGDA, CAGrad, UPGrad, _kernels
from evenhand.impartial._pcgrad import project

HEADS = 12
CALLS = 20  # in one graph, so that its own launch counts little


@contextmanager
def torch_only() -> Iterator[None]:
    usable, _kernels.usable = _kernels.usable, lambda _: False
    try:
        yield
    finally:
        _kernels.usable = usable


def problem(replicas: int, heads: int, kind: str = "random") -> Tensor:
    """Gram matrices [R, T, T] of gradients whose norms spread over two decades, in single precision."""
    generator = torch.Generator("cuda").manual_seed(heads)
    rows = torch.randn(replicas, heads, 4 * heads, generator=generator, device="cuda", dtype=torch.float64)
    rows *= 10 ** (2 * torch.rand(replicas, heads, 1, generator=generator, device="cuda", dtype=torch.float64) - 1)
    if kind == "dependent":
        rows = rows[..., : max(1, heads // 2)]
    elif kind == "duplicate":
        rows[:, -1] = rows[:, 0]
    elif kind == "a zero head":
        rows[:, 0] = 0
    return (rows @ rows.mT).float()


def solvers(gram: Tensor, *, dependent: bool = False) -> dict[str, Callable[[], Tensor]]:
    generator = torch.Generator("cuda").manual_seed(1)
    order = torch.rand(gram.shape[:-1], generator=generator, device="cuda").argsort(-1)
    return {
        "MGDA": lambda: MGDA().weights(gram, dependent=dependent),
        "PCGrad": lambda: project(gram, order),
        "IMTL-G": lambda: IMTLG().weights(gram),
        "CAGrad": lambda: CAGrad(0.4).mixing(gram),
        "UPGrad": lambda: UPGrad().mixing(gram, dependent=dependent),
    }


def check() -> None:
    """Stop if the sides differ by more than rounding does, which the weights of dependent gradients magnify."""
    worst: dict[tuple[str, str], float] = {}
    for heads in (2, 3, 5, 12, 16, 21, 43, 64):
        for kind in ("random", "a zero head", "duplicate", "dependent"):
            for name, solve in solvers(problem(15, heads, kind), dependent=True).items():
                found = solve()
                with torch_only():
                    expected = solve()
                difference = ((found - expected).norm() / expected.norm()).item()
                limit = 1e-2 if kind in ("duplicate", "dependent") else 1e-5
                if not difference <= limit:
                    raise SystemExit(f"{name}, T = {heads}, {kind}: the kernel is off by {difference:.1e}")
                worst[name, kind] = max(worst.get((name, kind), 0.0), difference)
    print("largest relative difference for T = 2 ... 64, R = 15")
    for (name, kind), difference in worst.items():
        print(f"{name:8}{kind:14}{difference:.0e}")


def milliseconds(solve: Callable[[], Tensor], rounds: int = 50) -> float:
    """The median time of one call in a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            solve()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            solve()
    times = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / CALLS)
    return statistics.median(times)


def main() -> None:
    if not torch.cuda.is_available() or not _kernels.usable(torch.eye(2, device="cuda")):
        raise SystemExit("This needs a CUDA device and a Triton that compiles for it.")
    print(f"torch {torch.__version__}, Triton {_kernels.triton.__version__}, {torch.cuda.get_device_name()}\n")
    check()
    print(f"\nms per call in a CUDA graph, T = {HEADS}")
    print(f"{'':8}{'R':>4}{'torch':>10}{'kernel':>10}{'ratio':>8}")
    for replicas in (5, 15, 60):
        for name, solve in solvers(problem(replicas, HEADS)).items():
            kernel = milliseconds(solve)
            with torch_only():
                plain = milliseconds(solve)
            print(f"{name:8}{replicas:4}{plain:10.4f}{kernel:10.4f}{plain / kernel:8.1f}", flush=True)


if __name__ == "__main__":
    main()
