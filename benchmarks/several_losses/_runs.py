"""The shell of both benchmarks: runs one after the other, each a small file in a folder, as long as time is left."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ._contenders import Contender
from ._contest import Contest
from ._data import Splits

Report = dict[str, Any]
QUICK = {"rows": 600, "epochs": 1, "seeds": 2, "batch_size": 100}


@dataclass(frozen=True)
class Benchmark:
    """What differs between the two."""

    name: str
    data: Mapping[str, Callable[[str, Path], Splits]]
    contest: Callable[[Sequence[Contender], Sequence[int], Splits], Contest]
    contenders: Callable[[], list[Contender]]
    optimizer: Callable[[Iterable[torch.nn.Parameter], Tensor], Any]
    learning_rates: tuple[float, ...]
    heads: tuple[str, ...]  # what is measured
    tables: Callable[[Report], str]


def main(benchmark: Benchmark, description: str | None) -> None:
    options = _arguments(description)
    if options.table:
        print(benchmark.tables(json.loads(options.table.read_text(encoding="utf-8"))))
    elif options.collect:
        options.collect.write_text(json.dumps(collected(benchmark, options.cache), indent=1) + "\n", encoding="utf-8")
    else:
        run_all(benchmark, options)
        print(benchmark.tables(collected(benchmark, options.cache)))


def _arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path("build/several-losses"))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("EVENHAND_DATA", "data")))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which no run is begun")
    parser.add_argument("--only", nargs="+", help="some data sets")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="of each part; all if not given")
    parser.add_argument("--learning-rates", type=float, nargs="+")
    parser.add_argument("--quick", action="store_true", help=" ".join(f"{k}={v}" for k, v in QUICK.items()))
    parser.add_argument("--collect", type=Path)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    return options


def run_all(benchmark: Benchmark, options: argparse.Namespace) -> None:
    """Everything that the folder does not have yet; the first learning rate of all data sets comes first."""
    begin, longest = time.monotonic(), 0.0
    if options.device.startswith("cuda"):
        torch.backends.cuda.matmul.fp32_precision = "tf32"
    for lr in options.learning_rates or benchmark.learning_rates:
        for name in options.only or benchmark.data:
            path = options.cache / f"{benchmark.name}-{name.replace(' ', '-')}-{lr:g}.json"
            before = time.monotonic()
            if path.is_file():
                continue
            if before - begin + longest > options.limit:
                print(f"not begun, for lack of time: {path.name}", flush=True)
                continue
            write(path, run(benchmark, name, lr, options))
            longest = max(longest, time.monotonic() - before)
    path = options.cache / f"{benchmark.name}-costs.json"
    if not path.is_file() and time.monotonic() - begin < options.limit:
        write(path, costs(benchmark, options))


def run(benchmark: Benchmark, name: str, lr: float, options: argparse.Namespace) -> Report:
    """Train all contenders with one learning rate on one data set."""
    splits, contenders, seeds = _splits(benchmark, name, options), benchmark.contenders(), range(options.seeds)
    contest = benchmark.contest(contenders, list(seeds), splits).to(options.device)
    begin = time.perf_counter()

    def tell(epoch: int) -> None:
        if epoch == 0:  # soon, so that a run that would take too long can be stopped
            _wait(options)
            print(f"{benchmark.name}, {name}: {time.perf_counter() - begin:.1f} s for the first epoch", flush=True)

    contest.train_for(options.epochs, options.batch_size, lr, benchmark.optimizer, tell)
    found = {part: x.tolist() for part, x in contest.evaluate().items()}  # waits for the device
    report = {"data": name, "lr": lr, "epochs": options.epochs, "batch size": options.batch_size, **_machine(options)}
    report |= {"rows": {part: len(getattr(splits, part).labels) for part in ("train", "validation", "test")}}
    report |= {"seconds": round(time.perf_counter() - begin, 1), "measures": list(benchmark.heads)}
    report["contenders"] = {
        c.name: {part: [[round(v, 5) for v in seed[i]] for seed in x] for part, x in found.items()}
        for i, c in enumerate(contenders)
    }
    print(f"{benchmark.name}, {name}, learning rate {lr:g}: {report['seconds']} s", flush=True)
    return report


def costs(benchmark: Benchmark, options: argparse.Namespace, n_steps: int = 30) -> Report:
    """Milliseconds that a step of one contender alone takes, all seeds together."""
    splits = _splits(benchmark, next(iter(benchmark.data)), options)
    splits = splits.first(options.batch_size * n_steps)
    _milliseconds(benchmark, benchmark.contenders()[0], splits, options)  # warms up
    found = {c.name: _milliseconds(benchmark, c, splits, options) for c in benchmark.contenders()}
    return {**_machine(options), "batch size": options.batch_size, "milliseconds": found}


def _milliseconds(benchmark: Benchmark, contender: Contender, splits: Splits, options: argparse.Namespace) -> float:
    contest = benchmark.contest([contender], list(range(options.seeds)), splits).to(options.device)
    one, two = (_seconds(benchmark, contest, epochs, options) for epochs in (1, 2))
    # the difference of whole trainings holds no recording of the step
    return round((two - one) / (len(splits.train.labels) // options.batch_size) * 1e3, 3)


def _seconds(benchmark: Benchmark, contest: Contest, epochs: int, options: argparse.Namespace) -> float:
    begin = time.perf_counter()
    contest.train_for(epochs, options.batch_size, 1e-3, benchmark.optimizer)
    _wait(options)
    return time.perf_counter() - begin


def _wait(options: argparse.Namespace) -> None:
    if options.device.startswith("cuda"):
        torch.cuda.synchronize()


def _splits(benchmark: Benchmark, name: str, options: argparse.Namespace) -> Splits:
    if name not in benchmark.data:
        sys.exit(f"--only should name some of {', '.join(benchmark.data)}. Found {name!r}.")
    splits = benchmark.data[name](name, options.data)
    return (splits.first(options.rows) if options.rows else splits).to(torch.device(options.device))


def _machine(options: argparse.Namespace) -> Report:
    device = torch.cuda.get_device_name() if options.device.startswith("cuda") else "CPU"
    return {"seeds": options.seeds, "device": device, "torch": torch.__version__}


def write(path: Path, report: Report) -> None:
    """The whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps(report) + "\n", encoding="utf-8")
    path.with_suffix(".part").replace(path)


def collected(benchmark: Benchmark, cache: Path) -> Report:
    """All runs of a folder as one report."""
    costs_path = cache / f"{benchmark.name}-costs.json"
    runs = [json.loads(p.read_text()) for p in sorted(cache.glob(f"{benchmark.name}-*.json")) if p != costs_path]
    if not runs:
        sys.exit(f"--cache should be a folder with runs of {benchmark.name}. Found none in {cache}.")
    report: Report = {"command": f"python benchmarks/{benchmark.name}.py", "runs": runs}
    if costs_path.is_file():
        report["costs"] = json.loads(costs_path.read_text())
    return report
