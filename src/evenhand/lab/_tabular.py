"""One table, one model, one objective: all choices of f and all seeds are trained as replicas of one stack."""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from .. import __version__
from ..common import Tick, missed_rate, misses, read_checkpoint, wanted_rate, write_checkpoint, write_tensors
from ..impartial import method_of
from ..tables.stack import Best, Run, Stack
from ._config import Runs, TableExperiment, to_dict
from ._folder import Folder
from ._measured import Measures, plain, trivial
from ._new_rows import generate
from ._splits import Splits, load
from ._weights_of_columns import weights_of_columns
from .results import TableReport

SAVE_SECONDS = 10.0  # between checkpoints
LOOK_SECONDS = 1.0  # between looks at the clock


@dataclass(frozen=True)
class Choice:
    """What is trained once with every seed."""

    method: str
    kl_weight: float | str = 1.0
    restored: bool = True
    columns: str = ""  # what columns count, in words

    def about(self) -> dict[str, Any]:
        """What a report says."""
        weights = {"column_weights": self.columns} if self.columns else {}
        return {"method": self.method, "kl_weight": self.kl_weight, "restored": self.restored, **weights}


def choices(runs: Runs) -> list[Choice]:
    """Plain training at every KL weight, every f, and every f without norm restoration if that is wanted.

    Plain training with weights of columns comes after that. At every rate that is held, the same.
    """
    others = [method for method in runs.methods if method != "sum"]
    found: list[Choice] = []
    if runs.fixed:
        plain = sorted(runs.fixed, key=lambda weight: weight != 1.0)  # 1 first
        found += [Choice("sum", weight) for weight in plain] + [Choice(method) for method in others]
        found += [Choice(method, restored=False) for method in others if runs.unrestored]
        found += [Choice("sum", columns=word) for word in runs.column_weights]
    for rate in runs.rates:
        found += [Choice(method, rate) for method in ("sum", *others)]
        found += [Choice(method, rate, restored=False) for method in others if runs.unrestored]
        found += [Choice("sum", rate, columns=word) for word in runs.column_weights]
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one processor: layers are small, so that a second one saves a quarter of the time at best.

    On a machine with other work, threads that wait for each other take ten times as long; and sums in another order
    would give other numbers on another machine.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def run_table(
    config: TableExperiment, folder: Folder, *, device: torch.device, tick: Tick, save_seconds: float = SAVE_SECONDS
) -> dict[str, Any]:
    """Train and measure; what is measured is the report. Interrupted, it resumes from its last checkpoint."""
    source = load(config.data)
    splits = Splits(source, config, device)
    job = _Training(config, splits, folder, tick, save_seconds)
    job.run()
    started = time.monotonic()
    tick(0, "measuring on test rows")
    report: dict[str, Any] = {
        "experiment": "table",
        "name": config.name,
        "data": source.about() | {"train_rows": len(splits.parts[0][0]), "test_rows": len(splits.parts[0][2])},
        "schema": source.schema.to_toml(),
        "config": to_dict(config),
        "seeds": list(config.runs.seeds),
        "runs": job.measured(),
        "trivial": trivial(source, splits, job.measures.hidden[2]),
    }
    missed = job.missed(report["runs"])
    if missed:
        report["missed_rates"] = missed
        warnings.warn(" ".join(missed), stacklevel=2)
    chosen = TableReport(report).best()
    shown = {"plain": 0} | ({} if chosen is None else {"impartial": report["runs"].index(chosen)})
    report["conflicts"] = job.measures.conflicts(job.stack.model, job.history["checks"], shown)
    if config.evaluation.generate:
        tick(0, "generating rows")
        report["generated"] = generate(config, splits, job.stack, folder, report["runs"], shown)
    folder.write_json("history.json", job.history)
    about = {"format": 1, "version": __version__, "family": job.stack.model.name}
    write_tensors(folder.path / "model.safetensors", job.stack.model.state_dict(), about)
    seconds = {"training": job.seconds, "evaluation": time.monotonic() - started}
    return report | {"seconds": {name: round(s, 1) for name, s in seconds.items()}}


class _Training:
    """A stack on its way, with its checkpoints."""

    def __init__(
        self, config: TableExperiment, splits: Splits, folder: Folder, tick: Tick, save_seconds: float
    ) -> None:
        self.config, self.splits, self.choices = config, splits, choices(config.runs)
        self._folder, self._tick, self._save_seconds = folder, tick, save_seconds
        weights = {word: weights_of_columns(word, splits) for word in dict.fromkeys(c.columns for c in self.choices)}
        runs = [
            Run(seed, method_of(c.method), config.training.lr, c.kl_weight, c.restored, weights[c.columns][seed])
            for c in self.choices
            for seed in splits.seeds
        ]
        self.seeds = [run.seed for run in runs]
        self.stack = self._make_stack(runs)
        self.best = Best(self.stack)
        self.measures = Measures(config, splits, self.seeds)
        labels = [[c.method, c.kl_weight, c.restored, *filter(None, [c.columns])] for c in self.choices]
        self.history: dict[str, Any] = {"choices": labels, "seeds": splits.seeds, "checks": []}
        self.seconds, self._steps = 0.0, 0

    def _make_stack(self, runs: Sequence[Run]) -> Stack:
        training, objective = self.config.training, self.config.objective
        network = self.splits.network(self.seeds)
        train = self.splits.index(0, self.splits.seeds)
        per_epoch = max(1, train.shape[1] // min(training.batch_size, train.shape[1]))
        return Stack(
            network,
            runs,
            self.splits.rows,
            train,
            objective=objective.name,
            n_samples=objective.n_samples,
            analytic_kl=objective.analytic_kl or network.analytic_kl,
            batch_size=training.batch_size,
            dropout=training.dropout,
            hide=training.hide,
            decay=training.epochs * per_epoch if training.decay else 0,
            compile_step=self.splits.device.type == "cuda",
        )

    def run(self) -> None:
        """Train to the end, from the last checkpoint if there is one; the best weights are put back."""
        training, per_epoch = self.config.training, self.stack.steps_per_epoch
        # epochs done at every check; with fewer epochs than checks, one for each epoch
        ends = sorted({training.epochs * (i + 1) // training.checks for i in range(training.checks)} - {0})
        self._resume()
        self._said = "resumed" if self._steps else f"{len(self.seeds)} runs"
        self._tick(self._steps / per_epoch, self._said)
        self._started = self._saved = time.monotonic()
        self._before = self.seconds
        for end in (e for e in ends if e > self._checked):
            self._advance(end * per_epoch)
            self._said = f"{len(self.seeds)} runs, best error {self._check(end):.4f}"
            self._save_now_and_then()
        self.best.restore()

    def _advance(self, goal: int) -> None:
        """Train up to so many steps, in pieces of about a second, with a checkpoint now and then."""
        piece = 1
        while self._steps < goal:
            n, started = min(piece, goal - self._steps), time.monotonic()
            self.stack.train(n)
            self._steps += n
            self._tick(n / self.stack.steps_per_epoch, self._said)
            took = max(time.monotonic() - started, 1e-6)
            piece = max(1, min(4 * n, int(n * LOOK_SECONDS / took)))
            if self._steps < goal:  # at the goal, after the check
                self._save_now_and_then()

    @property
    def _checked(self) -> int:
        """The epoch of the last check."""
        checks = self.history["checks"]
        return int(checks[-1]["epoch"]) if checks else 0

    def _check(self, epoch: int) -> float:
        """Validate; returns the lowest error of all runs."""
        scores, shares = self.measures.on_validation(self.stack.model)
        check = {
            "epoch": epoch,
            "step": epoch * self.stack.steps_per_epoch,
            "validation": plain(scores),
            "loss": plain(self.stack.loss),
            "shares": plain(shares),  # of the first seed
        }
        off, control = None, self.stack.control
        if control is not None:
            rates = self.measures.rates(self.stack.model)
            check |= {"rate": plain(rates), "kl_weight": plain(control.weights())}
            off = self.stack.calibrate(rates)
        self.best.offer(scores, off)
        self.history["checks"].append(check)
        return float(self.best.scores.min())

    def measured(self) -> list[dict[str, Any]]:
        """An entry for every choice, with a list over seeds for every measure."""
        results, n = self.measures.on_test(self.stack.model, self.best.scores), len(self.splits.seeds)
        return [
            c.about()
            | {name: plain(values[i * n : (i + 1) * n]) for name, values in results.items()}
            | ({} if wanted_rate(c.kl_weight) is None else self._held(slice(i * n, (i + 1) * n)))
            for i, c in enumerate(self.choices)
        ]

    def _held(self, replicas: slice) -> dict[str, Any]:
        """How a rate was held over training: the KL weight of the best weights, and rates and weights over checks.

        The latter are the smallest, the middle and the largest of the seeds.
        """
        checks = self.history["checks"]
        weights, rates = self._at_best("kl_weight", replicas), self._at_best("rate", replicas)
        over = {name: [_spread(check[name][replicas]) for check in checks] for name in ("rate", "kl_weight")}
        steps = [check["step"] for check in checks]
        return {"weight": weights, "validation_rate": rates, "held": {"steps": steps, **over}}

    def _at_best(self, name: str, replicas: slice) -> list[float | None]:
        """What a check said at the best weights of some replicas."""
        at = {check["step"]: check[name][replicas] for check in self.history["checks"]}
        best = [int(step) for step in self.best.steps[replicas].tolist()]
        return [at[step][seed] if step in at else None for seed, step in enumerate(best)]

    def missed(self, runs: Sequence[dict[str, Any]]) -> list[str]:
        """A sentence for every run and seed whose rate on validation rows is not the one that it was to hold."""
        found = []
        for run in runs:
            target = wanted_rate(run["kl_weight"])
            if target is None:
                continue
            words = ", ".join(filter(None, [run["method"], run.get("column_weights", "")]))
            seeds = zip(self.splits.seeds, run["validation_rate"], run["weight"], strict=True)
            for seed, rate, weight in seeds:
                rate, weight = (math.nan if x is None else x for x in (rate, weight))
                if misses(rate, target):
                    found.append(missed_rate(rate, target, weight, f" of {words} with seed {seed}"))
        return found

    # ---------------------------------------------------------------- checkpoints

    def _save_now_and_then(self) -> None:
        now = time.monotonic()
        self.seconds = self._before + now - self._started
        if now - self._saved >= self._save_seconds:
            self._save()
            self._saved = time.monotonic()

    def _save(self) -> None:
        state = {"stack": self.stack.state_dict(), "best": self.best.state_dict(), "history": self.history}
        done = {"epoch": self._steps // self.stack.steps_per_epoch, "steps": self._steps, "seconds": self.seconds}
        write_checkpoint(self._folder.path, {**state, **done})

    def _resume(self) -> None:
        state = read_checkpoint(self._folder.path, {})
        if state is None:
            return
        self.stack.load_state_dict(state["stack"])
        self.best.load_state_dict(state["best"])
        self.history, self.seconds = state["history"], state["seconds"]
        # older checkpoints were all written at the end of an epoch
        self._steps = int(state["steps"] if "steps" in state else state["epoch"] * self.stack.steps_per_epoch)


def _spread(values: Sequence[float | None]) -> list[float | None]:
    """The smallest, the middle and the largest number; None where there is none."""
    known = sorted(x for x in values if x is not None)
    return [known[0], statistics.median(known), known[-1]] if known else [None] * 3
