"""Where the time of one captured step of a stack goes, on a CUDA device.

    python benchmarks/stack_profile.py [--replicas 75] [--only "VAE ELBO"] [--precision tf32] [--json FILE]

For every model: milliseconds a step, replica-steps a second, how many kernels a step launches, how long they run
altogether, for how long at least one runs, and the kernels that take longest. Columns and networks are those of
`stacking.py`, the 15 choices of f are the paper's.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from stacking import BATCH, milliseconds, stacked
from torch.profiler import ProfilerActivity, profile

CASES: dict[str, dict[str, Any]] = {
    "VAE ELBO": {},
    "VAE IWAE": {"objective": "iwae", "n_samples": 20},
    "VAE DReG": {"objective": "dreg", "n_samples": 20},
    "HI-VAE": {"family": "hivae", "batch_size": 1000},
    "VAE ELBO, plain": {"mixed": False},
}
STEPS = 20


def kernels(step: Any) -> list[tuple[float, float, str]]:
    """Start and end in microseconds, and name, of every kernel of some steps."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
    events = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    return sorted((e.time_range.start, e.time_range.end, e.name) for e in events)


def busy(events: list[tuple[float, float, str]]) -> float:
    """For how long at least one of the kernels runs."""
    total, until = 0.0, float("-inf")
    for start, end, _ in events:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, default=75)
    parser.add_argument("--only", nargs="+", default=list(CASES))
    parser.add_argument("--precision", choices=["ieee", "tf32"], default="ieee")
    parser.add_argument("--json")
    parser.add_argument("--timeline")
    args = parser.parse_args()
    torch.backends.cuda.matmul.fp32_precision = args.precision
    results = {}
    for name in args.only:
        stack = stacked(args.replicas, "cuda", compile_step=True, **CASES[name])
        ms = milliseconds(lambda stack=stack: stack.train(1), 200, "cuda")
        events = kernels(lambda stack=stack: stack.train(1))
        time_of: Counter[str] = Counter()
        for start, end, kernel in events:
            time_of[kernel[:90]] += end - start
        number_of = Counter(kernel[:90] for _, _, kernel in events)
        results[name] = {
            "milliseconds": round(ms, 4),
            "replica_steps_per_second": round(args.replicas / ms * 1e3),
            "kernels": round(len(events) / STEPS, 1),
            "microseconds_in_kernels": round(sum(time_of.values()) / STEPS, 1),
            "microseconds_busy": round(busy(events) / STEPS, 1),
        }
        print(name, f"(batch {stack.noise.batch_size or BATCH})", json.dumps(results[name]), flush=True)
        for kernel, time in time_of.most_common(25):
            print(f"  {time / STEPS:8.1f} us {number_of[kernel] / STEPS:6.1f} x  {kernel}")
        if args.timeline:
            path = Path(args.timeline) / (name.replace(" ", "-").replace(",", "") + ".txt")
            one = events[-len(events) // STEPS :]
            path.write_text("".join(f"{s - one[0][0]:9.1f} {e - s:7.1f} {k[:120]}\n" for s, e, k in one))
        del stack
    if args.json:
        about = {"hardware": torch.cuda.get_device_name(), "torch": torch.__version__}
        about |= {"replicas": args.replicas, "precision": args.precision}
        Path(args.json).write_text(json.dumps(about | {"cases": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
