"""Blocks on a CUDA device: no host synchronisation, capture in a CUDA graph, and what they cost there.

python benchmarks/gpu.py [--out report.json]
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import warnings
from collections.abc import Callable

import torch
from _methods import METHODS
from torch import Tensor, nn
from torch.nn import functional as F

from evenhand.impartial import IMTLG, Block, LinearBlock, Method, ParameterBlock


class Model(nn.Module):
    """An encoder, T heads of very different size, and a block of any kind between them."""

    def __init__(self, kind: str, method: Method | None, heads: int = 12, width: int = 50) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(
            nn.Linear(heads, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.heads = nn.Linear(width, heads)
        self.kind, self.n = kind, heads
        if kind == "linear":
            self.block = None if method is None else LinearBlock(method, range(heads))
        elif kind == "parameters":
            self.block = None if method is None else ParameterBlock(self.encoder, method)
        else:
            self.block = None if method is None else Block(method, per_sample=kind == "per sample")
        self.register_buffer("scales", 10 ** torch.linspace(-1, 1, heads))

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "parameters":
            calls = [self.encoder] * 3 if self.block is None else self.block(3)
            return sum(
                ((self.heads(call(x * (t + 1))) - x) * self.scales).square().sum() for t, call in enumerate(calls)
            )
        y = self.encoder(x)
        if self.block is None:
            eta = self.heads(y)
        elif self.kind == "linear":
            eta = self.block(y, self.heads.weight, self.heads.bias)
        else:
            observed = x > -0.5 if self.kind == "masked" else None
            views = self.block(y, self.n, observed=observed)
            pairs = zip(views, self.heads.weight, self.heads.bias, strict=True)
            eta = torch.stack([F.linear(v, w.unsqueeze(0), b.unsqueeze(0)).squeeze(-1) for v, w, b in pairs], -1)
        loss = ((eta - x) * self.scales).square()
        return (loss * (x > -0.5)).sum() if self.kind == "masked" else loss.sum()


def gradient(model: nn.Module, x: Tensor) -> Tensor:
    model.zero_grad(set_to_none=True)
    model(x).backward()
    return torch.cat([p.grad.flatten() for p in model.encoder.parameters()])


def no_synchronisation(model: nn.Module, x: Tensor) -> str:
    for _ in range(2):
        gradient(model, x)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        gradient(model, x)
    except RuntimeError as error:
        return f"SYNC {str(error)[:60]}"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return "none"


def captured(model: nn.Module, x: Tensor) -> tuple[torch.cuda.CUDAGraph, Tensor]:
    """A step in a CUDA graph, and the gradient buffer it fills."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            gradient(model, x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    model.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        out = gradient(model, x)
    return graph, out


def microseconds(call: Callable[[], object], rounds: int = 30, inner: int = 10) -> float:
    for _ in range(5):
        call()
    times = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(inner):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / inner * 1e3)
    return statistics.median(times)


def correctness(x: Tensor) -> list[dict[str, object]]:
    rows = []
    for kind in ("features", "masked", "per sample", "linear", "parameters"):
        for name, make in METHODS.items():
            if kind == "per sample" and name == "GradNorm":
                continue
            model = Model(kind, make())
            expected = gradient(copy.deepcopy(model).double(), x.cpu().double())
            model = model.cuda()
            found = gradient(model, x)
            difference = ((found.cpu().double() - expected).norm() / expected.norm()).item()
            sync = no_synchronisation(model, x)
            try:
                model = Model(kind, make()).cuda()
                graph, out = captured(model, x)
                graph.replay()
                torch.cuda.synchronize()
                gap = ((out - found).norm() / found.norm()).item()
                capture = "random" if make().is_random else f"{gap:.0e}"
            except RuntimeError as error:
                capture = f"FAILED {str(error)[:60]}"
            row = {"kind": kind, "method": name, "synchronisation": sync, "graph against eager": capture}
            row["against the CPU in double"] = "random" if make().is_random else f"{difference:.0e}"
            rows.append(row)
            print(*(f"{v!s:18}" for v in row.values()), flush=True)
    return rows


def overhead(x: Tensor) -> list[dict[str, object]]:
    """Microseconds of forward and backward: eager, compiled, and in a CUDA graph."""
    rows = []
    for name, make in {"no block": lambda: None, **METHODS}.items():
        row: dict[str, object] = {"method": name}
        model = Model("linear", make()).cuda()
        row["eager"] = microseconds(lambda m=model: gradient(m, x), rounds=10)
        graph, _ = captured(model, x)
        row["graph"] = microseconds(graph.replay)
        torch._dynamo.reset()
        compiled = torch.compile(Model("linear", make()).cuda(), fullgraph=True)
        compiled.encoder = compiled._orig_mod.encoder
        row["compiled"] = microseconds(lambda m=compiled: gradient(m, x), rounds=10)
        graph, _ = captured(compiled, x)
        row["compiled, graph"] = microseconds(graph.replay)
        rows.append(row)
        print(f"{name:18}" + "".join(f"{row[k]:18.0f}" for k in list(row)[1:]), flush=True)
    return rows


def scaler(x: Tensor) -> str:
    """Half precision with loss scaling: the scale goes down after an overflow and training goes on."""
    model = Model("features", IMTLG()).cuda()
    optimizer, scale = torch.optim.Adam(model.parameters()), torch.amp.GradScaler(init_scale=2.0**40)
    for _ in range(40):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x)
        scale.scale(loss).backward()
        scale.step(optimizer)
        scale.update()
    finite = all(p.isfinite().all() for p in model.parameters())
    return f"scale 2^40 -> {scale.get_scale():.0f}, parameters finite: {finite}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    x = torch.randn(128, 12, device="cuda")
    report: dict[str, object] = {
        "command": "python benchmarks/gpu.py",
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(),
    }
    print(report["torch"], report["device"])
    print(f"\n{'kind':18} {'method':18} {'synchronisation':18} {'graph = eager':18} against the CPU in double")
    report["correctness"] = correctness(x)
    report["half precision"] = scaler(x)
    print("\nhalf precision:", report["half precision"])
    print("\nforward and backward, 12 heads, 50 hidden units, batch 128, microseconds")
    print(f"{'':18}{'eager':>18}{'graph':>18}{'compiled':>18}{'compiled, graph':>18}")
    report["overhead in microseconds"] = overhead(x)
    if args.out:
        with open(args.out, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
