"""What the blocks of a mixture of experts cost: MMVAE with the paper's networks, plain and with LI, EEI and DEI.

python benchmarks/mixture_overhead.py [--device cuda] [--samples 30] [--precision bf16] [--compile] [--out FILE]
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

import torch
from torch import Tensor

from evenhand import CAGrad, MultimodalVAE
from evenhand.common._captured import CapturedStep, pack, unpack
from evenhand.datasets import mnist_svhn_text_modalities
from evenhand.impartial import Method
from evenhand.modalities.training import ImpartialMixture

STEPS_OF_THE_PAPER = 30 * 7885  # 30 epochs of 1,009,224 pairs in batches of 128
GOALS = {
    "no blocks": (),
    "LI": ("LI",),
    "LI + EEI": ("LI", "EEI"),
    "LI + EEI + DEI": ("LI", "EEI", "DEI"),
}
PAPER = {"no blocks": 1.0, "LI": 1.13, "LI + EEI": 1.16, "LI + EEI + DEI": 1.18}


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

    def __init__(self, goals: tuple[str, ...], method: Method, options: argparse.Namespace) -> None:
        model = MultimodalVAE(
            mnist_svhn_text_modalities(),
            experts=options.experts,
            objective=options.objective,
            n_samples=options.samples,
            impartial=dict.fromkeys(goals, method),
        )
        self.core: ImpartialMixture = model.core.to(options.device)
        self.forward = torch.compile(self.core, dynamic=False) if options.compile else self.core
        graph = options.compile and options.device == "cuda"
        self.optimizer = torch.optim.Adam(self.core.parameters(), lr=1e-3, amsgrad=True, fused=True, capturable=graph)
        self.update = CapturedStep(self.eager) if graph else self.eager
        self.values = batch(options.batch, options.device)
        half = options.precision == "bf16"
        self.context = torch.autocast(options.device, torch.bfloat16) if half else contextlib.nullcontext()
        self.generator = torch.Generator(options.device).manual_seed(0)

    def step(self) -> None:
        self.update(pack(self.values, noise=self.core.noise(len(self.values["mnist"]), self.generator)))

    def eager(self, inputs: Mapping[str, Tensor]) -> None:
        values, others = unpack(inputs)
        self.optimizer.zero_grad(set_to_none=True)
        with self.context:
            loss = self.forward(values, None, others["noise"]).loss
        loss.backward()
        self.optimizer.step()


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


def compare(sides: dict[str, Callable[[], None]], options: argparse.Namespace) -> dict[str, list[float]]:
    """All sides take turns."""
    for step in sides.values():
        for _ in range(8 if options.compile else options.warm_up):
            step()
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, step in sides.items():
            step()
            times[name].append(timed(step, options.device, options.steps))
    return times


def peer(options: argparse.Namespace) -> Callable[[], None] | None:
    """MultiVae's MMVAE with the same networks and tensors, if it is installed."""
    from _multivae import step_of_multivae

    return step_of_multivae(batch(options.batch, options.device), options.samples, options.device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--experts", default="mixture")
    parser.add_argument("--objective", default="siwae")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--precision", choices=["32", "tf32", "bf16"], default="32")
    parser.add_argument("--compile", action="store_true", help="and, on a GPU, replay steps as a CUDA graph")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--warm-up", type=int, default=2, help="steps before the clock starts; 8 with --compile")
    parser.add_argument("--peer", action="store_true", help="also time MultiVae's MMVAE, which must be installed")
    parser.add_argument("--out")
    options = parser.parse_args()
    if options.device == "cpu":
        torch.set_num_threads(1)
    if options.precision == "tf32":
        torch.backends.cuda.matmul.fp32_precision = torch.backends.cudnn.conv.fp32_precision = "tf32"
    method = CAGrad(0.4)
    sides = {name: Training(goals, method, options).step for name, goals in GOALS.items()}
    if options.peer and (other := peer(options)) is not None:
        sides["MultiVae, no blocks"] = other
    times = compare(sides, options)
    plain = times["no blocks"]
    print(f"{'':22}{'ms/step':>10}{'ratio':>8}{'paper':>8}")
    rows = {}
    for name, found in times.items():
        ratio = statistics.median(a / b for a, b in zip(found, plain, strict=True))
        rows[name] = {"ms": statistics.median(found), "ratio": ratio}
        print(f"{name:22}{rows[name]['ms']:10.2f}{ratio:8.3f}{PAPER.get(name, float('nan')):8.2f}", flush=True)
    hours = rows["no blocks"]["ms"] * STEPS_OF_THE_PAPER / 3.6e6
    print(f"30 epochs of MNIST-SVHN-Text without blocks at this speed: {60 * hours:.0f} minutes (paper: 604)")
    if options.out:
        where = (
            torch.cuda.get_device_name() if options.device == "cuda" else platform.processor() or platform.machine()
        )
        command = "python benchmarks/mixture_overhead.py " + " ".join(sys.argv[1:])
        report = {"command": command, "torch": torch.__version__, "hardware": where, "rows": rows}
        with open(options.out, "w") as file:
            json.dump(report | {"minutes_for_30_epochs": 60 * hours}, file, indent=1)


if __name__ == "__main__":
    main()
