"""What a step of a mixture of experts costs: with LI, EEI and DEI, and with gradients of few samples.

MMVAE with the paper's networks on numbers of the shapes of MNIST-SVHN-Text; no data are needed. All sides take turns
in one run. On a GPU steps are replayed as CUDA graphs.

PYTHONPATH=src python benchmarks/mixture_overhead.py [--device cuda] [--precision bf16] [--compile] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from evenhand import MultimodalVAE
from evenhand.common import CapturedStep, pack, unpack
from evenhand.datasets import mnist_svhn_text_modalities
from evenhand.impartial import CAGrad, Method, method_of
from evenhand.modalities.training import ImpartialMixture

STEPS_OF_THE_PAPER = 30 * 7885  # 30 epochs of 1,009,224 pairs in batches of 128
PLAIN = "no blocks"
PAPER = {PLAIN: 1.0, "LI": 1.13, "LI + EEI": 1.16, "LI + EEI + DEI": 1.18}
GOALS = (PLAIN, "LI", "EEI", "DEI", "LI + EEI", "LI + EEI + DEI")
WARM_UP = {"cpu": 1, "cuda": 8}  # a captured step is recorded after five others


def batch(rows: int, device: str) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    values = {
        "mnist": torch.randint(256, (rows, 1, 28, 28), generator=generator, dtype=torch.uint8),
        "svhn": torch.randint(256, (rows, 3, 32, 32), generator=generator, dtype=torch.uint8),
        "text": torch.randint(71, (rows, 8), generator=generator),
    }
    return {name: x.to(device) for name, x in values.items()}


class Training:
    """One side: a model, its optimiser and a step."""

    def __init__(self, goals: str, n_backward: int | None, method: Method, options: argparse.Namespace) -> None:
        model = MultimodalVAE(
            mnist_svhn_text_modalities(),
            experts=options.experts,
            objective=options.objective,
            n_samples=options.samples,
            n_backward=n_backward,
            impartial={} if goals == PLAIN else dict.fromkeys(goals.split(" + "), method),
        )
        on_gpu = options.device == "cuda"
        self.core: ImpartialMixture = model.core.to(options.device)
        self.forward = torch.compile(self.core, dynamic=False) if options.compile else self.core
        self.optimizer = torch.optim.Adam(
            self.core.parameters(), lr=1e-3, amsgrad=True, fused=True, capturable=on_gpu
        )
        self.update = CapturedStep(self.eager) if on_gpu else self.eager
        self.values = batch(options.batch, options.device)
        half = options.precision == "bf16"
        self.context = torch.autocast(options.device, torch.bfloat16) if half else contextlib.nullcontext()
        self.generator = torch.Generator(options.device).manual_seed(0)

    def inputs(self) -> dict[str, Tensor]:
        return pack(self.values, noise=self.core.noise(len(self.values["mnist"]), self.generator))

    def step(self) -> None:
        self.update(self.inputs())

    def eager(self, inputs: Mapping[str, Tensor]) -> None:
        values, others = unpack(inputs)
        self.optimizer.zero_grad(set_to_none=True)
        with self.context:
            loss = self.forward(values, None, others["noise"]).loss
        loss.backward()
        self.optimizer.step()


@dataclass
class Side:
    """What is timed, the most memory that a step needs (MiB; none on a CPU), and the times (ms)."""

    step: Callable[[], None]
    memory: float | None = None
    times: list[float] = field(default_factory=list)

    @property
    def ms(self) -> float:
        return statistics.median(self.times)

    def ratio(self, other: Side) -> float:
        """Median over rounds of how much longer it takes than the other in the same round: drifts cancel."""
        return statistics.median(a / b for a, b in zip(self.times, other.times, strict=True))

    def memory_ratio(self, other: Side) -> float | None:
        return None if self.memory is None or other.memory is None else self.memory / other.memory


def side(goals: str, n_backward: int | None, method: Method, options: argparse.Namespace) -> Side:
    """A side; on a GPU the peak of allocated memory in a step is measured before anything is captured."""
    if options.device != "cuda":
        return Side(Training(goals, n_backward, method, options).step)
    before = torch.cuda.memory_allocated()
    training = Training(goals, n_backward, method, options)
    for _ in range(2):  # the optimiser's state and workspaces come with the first step
        torch.cuda.reset_peak_memory_stats()
        training.eager(training.inputs())
        torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    training.optimizer.zero_grad(set_to_none=True)
    return Side(training.step, peak / 2**20)


def timed(step: Callable[[], None], device: str, steps: int) -> float:
    """Milliseconds per step: processor time on a CPU, which others share; events on a GPU."""
    if device == "cpu":
        start = time.process_time()
        for _ in range(steps):
            step()
        return (time.process_time() - start) / steps * 1e3
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(steps):
        step()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / steps


def compare(sides: list[Side], options: argparse.Namespace) -> None:
    """All sides take turns."""
    for one in sides:
        for _ in range(WARM_UP[options.device]):
            one.step()
    for _ in range(options.rounds):
        for one in sides:
            one.times.append(timed(one.step, options.device, options.steps))


Sides = dict[tuple[str, int | None], Side]


def rows_of(sides: Sides, n_backward: int | None, goals: list[str]) -> dict[str, dict[str, float | None]]:
    """The numbers of all goals: against no blocks, and against the full step."""
    rows: dict[str, dict[str, float | None]] = {}
    for name in goals:
        one, plain, full = sides[name, n_backward], sides[PLAIN, n_backward], sides[name, None]
        rows[name] = {"ms": one.ms, "ratio": one.ratio(plain), "mib": one.memory}
        if n_backward is not None:
            rows[name] |= {"faster": full.ratio(one), "memory": one.memory_ratio(full)}
            rows[name]["of_plain_full"] = one.ratio(sides[PLAIN, None])
    return rows


def show(report: dict[str, Any]) -> None:
    """One table: a row for every choice of goals, a group of columns for every number of samples with gradients."""
    few = report["n_backward"]
    print(f"{'':16}{'full step':^33}" + "".join(f"{f'gradients of {m} samples':^35}" for m in few))
    parts = "".join(f"{'ms':>9}{'ratio':>8}{'faster':>9}{'memory':>9}" for _ in few)
    print(f"{'':16}{'ms':>9}{'ratio':>8}{'paper':>8}{'MiB':>8}{parts}")
    for name, row in report["rows"].items():
        line = (
            f"{name:16}{row['ms']:9.2f}{row['ratio']:8.3f}{_text(PAPER.get(name), '8.2f')}{_text(row['mib'], '8.0f')}"
        )
        for m in few:
            r = few[m][name]
            line += f"{r['ms']:9.2f}{r['ratio']:8.3f}{r['faster']:8.2f}x{_text(r['memory'], '9.2f')}"
        print(line, flush=True)
    print("ratio: to no blocks beside it. faster, memory: against the full step with the same blocks.")
    for name, minutes in report["minutes_for_30_epochs"].items() if report["options"]["device"] == "cuda" else ():
        print(f"30 epochs of MNIST-SVHN-Text without blocks, {name}: {minutes:.0f} minutes (paper: 604)")


def _text(value: float | None, form: str) -> str:
    return f"{'-':>{form.split('.')[0]}}" if value is None else f"{value:{form}}"


def report_of(sides: Sides, options: argparse.Namespace, peer: Side | None) -> dict[str, Any]:
    on_gpu = options.device == "cuda"
    few = [m for m in options.backward if m < options.samples]
    rows = rows_of(sides, None, options.goals)
    if peer is not None:
        rows["MultiVae, no blocks"] = {"ms": peer.ms, "ratio": peer.ratio(sides[PLAIN, None]), "mib": None}
    minutes = {"full step": None, **{f"gradients of {m} samples": m for m in few}}
    scale = STEPS_OF_THE_PAPER / 6e4 * 128 / options.batch
    return {
        "command": "python benchmarks/mixture_overhead.py " + " ".join(sys.argv[1:]),
        "options": {name: value for name, value in vars(options).items() if name != "json"},
        "torch": torch.__version__,
        "hardware": torch.cuda.get_device_name() if on_gpu else platform.processor() or platform.machine(),
        "rows": rows,
        "n_backward": {str(m): rows_of(sides, m, options.goals) for m in few},
        "minutes_for_30_epochs": {name: sides[PLAIN, m].ms * scale for name, m in minutes.items()},
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--experts", default="mixture")
    parser.add_argument("--objective", default="siwae")
    parser.add_argument("--method", help="of all blocks, such as imtlg; the paper's CAGrad(0.4) if left out")
    parser.add_argument("--goals", nargs="+", default=list(GOALS), choices=GOALS)
    parser.add_argument("--samples", type=int, default=30, help="K")
    parser.add_argument("--backward", type=int, nargs="*", default=[5, 10], help="samples that get gradients")
    parser.add_argument("--batch", type=int, help="128 on a GPU, 16 on a CPU")
    parser.add_argument("--precision", choices=["32", "tf32", "bf16"], default="32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="in a round: 20 on a GPU, 1 on a CPU")
    parser.add_argument("--peer", action="store_true", help="also time MultiVae's MMVAE, which must be installed")
    parser.add_argument("--json", "--out", help="where to write the numbers")
    options = parser.parse_args()
    on_gpu = options.device == "cuda"
    options.batch = options.batch or (128 if on_gpu else 16)
    options.steps = options.steps or (20 if on_gpu else 1)
    options.goals = [name for name in GOALS if name in (PLAIN, *options.goals)]
    return options


def main() -> None:
    options = parse()
    if options.device == "cpu":
        torch.set_num_threads(1)
    if options.precision == "tf32":
        torch.backends.cuda.matmul.fp32_precision = torch.backends.cudnn.conv.fp32_precision = "tf32"
    method = CAGrad(0.4) if options.method is None else method_of(options.method)
    few = [m for m in options.backward if m < options.samples]
    sides = {(name, m): side(name, m, method, options) for name in options.goals for m in (None, *few)}
    other = _peer(options) if options.peer else None
    compare([*sides.values(), *([] if other is None else [other])], options)
    report = report_of(sides, options, other)
    show(report)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


def _peer(options: argparse.Namespace) -> Side | None:
    """MultiVae's MMVAE with the same networks and tensors, if it is installed."""
    from _multivae import step_of_multivae

    step = step_of_multivae(batch(options.batch, options.device), options.samples, options.device)
    return None if step is None else Side(step)


if __name__ == "__main__":
    main()
