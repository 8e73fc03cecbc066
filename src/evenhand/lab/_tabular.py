"""One table, one model, one objective: all choices of f and all seeds are trained as replicas of one stack."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import __version__
from ..common import LatentMixture, Tick, read_checkpoint, write_checkpoint, write_tensors
from ..impartial import method_of
from ..tables.families import Family
from ..tables.frames import completely_at_random
from ..tables.inference import (
    encode,
    expectations,
    head_gradients,
    log_likelihood,
    quality,
    rates_and_bounds,
    reconstruct,
    rows_from_codes,
    rows_from_prior,
    trivial_guess,
)
from ..tables.stack import Best, Run, Stack
from ._config import Runs, TableExperiment, to_dict
from ._folder import Folder
from ._splits import Source, Splits, load
from .results import TableReport

READ_ROWS = 512  # of the validation rows, on which gradients are looked at
MIXTURE_ROWS = 5_000  # that the latent mixture is fitted to
SAVE_SECONDS = 10.0  # between checkpoints


@dataclass(frozen=True)
class Choice:
    """What is trained once with every seed."""

    method: str
    kl_weight: float = 1.0
    restored: bool = True


def choices(runs: Runs) -> list[Choice]:
    """Plain training at every KL weight, every f, and every f without norm restoration if that is wanted."""
    others = [method for method in runs.methods if method != "sum"]
    plain = sorted(runs.kl_weights, key=lambda weight: weight != 1.0)  # 1 first
    found = [Choice("sum", weight) for weight in plain] + [Choice(method) for method in others]
    return found + [Choice(method, restored=False) for method in others if runs.unrestored]


@contextmanager
def _one_thread() -> Iterator[None]:
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


@_one_thread()
def run_table(
    config: TableExperiment, folder: Folder, *, device: torch.device, tick: Tick, save_seconds: float = SAVE_SECONDS
) -> dict[str, Any]:
    """Train and measure; what is measured is the report. Interrupted, it resumes from its last checkpoint."""
    source = load(config.data)
    splits = Splits(source, config, device)
    job = _Training(config, splits, folder, tick, save_seconds)
    job.run()
    started = time.monotonic()
    report: dict[str, Any] = {
        "experiment": "table",
        "name": config.name,
        "data": source.about() | {"train_rows": len(splits.parts[0][0]), "test_rows": len(splits.parts[0][2])},
        "schema": source.schema.to_toml(),
        "config": to_dict(config),
        "seeds": list(config.runs.seeds),
        "runs": _by_choice(job.evaluate(), job.choices, len(config.runs.seeds)),
        "trivial": _trivial(source, splits),
    }
    chosen = TableReport(report).best()
    shown = {"plain": 0} | ({} if chosen is None else {"impartial": report["runs"].index(chosen)})
    report["conflicts"] = job.conflicts(shown)
    if config.evaluation.generate:
        report["generated"] = _generate(config, splits, job.stack, folder, report["runs"], shown)
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
        runs = [
            Run(seed, method_of(c.method), config.training.lr, c.kl_weight, c.restored)
            for c in self.choices
            for seed in splits.seeds
        ]
        self.seeds = [run.seed for run in runs]
        self.stack = self._make_stack(runs)
        self.best = Best(self.stack)
        self.validation = splits.index(1, self.seeds)
        first = [i * len(splits.seeds) for i in range(len(self.choices))]  # the first seed of every choice
        labels = [[c.method, c.kl_weight, c.restored] for c in self.choices]
        self.history: dict[str, Any] = {"choices": labels, "seeds": splits.seeds, "checks": []}
        self._first, self.seconds = torch.tensor(first, device=splits.device), 0.0
        self._hidden = hidden_cells(config, len(splits.parts[0][2]), len(splits.schema)).to(splits.device)

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
        training = self.config.training
        # epochs done at every check; with fewer epochs than checks, one for each epoch
        ends = sorted({training.epochs * (i + 1) // training.checks for i in range(training.checks)} - {0})
        done = self._resume()
        self._tick(done, "resumed" if done else "training")
        started = saved = time.monotonic()
        before = self.seconds
        for end in (e for e in ends if e > done):
            self.stack.train((end - done) * self.stack.steps_per_epoch)
            error = self._check(end)
            self._tick(end - done, f"{len(self.seeds)} runs, best error {error:.4f}")
            done, now = end, time.monotonic()
            self.seconds = before + now - started
            if now - saved >= self._save_seconds and end < ends[-1]:
                self._save(done)
                saved = now
        self.best.restore()

    def _check(self, epoch: int) -> float:
        """Validate; returns the lowest error of all runs."""
        guess = reconstruct(self.stack.model, self.splits.rows, self.validation)
        scores = self.splits.errors(guess, 1, self.seeds).nanmean(-1)
        self.best.offer(scores)
        shares = head_gradients(self.stack.model, self.splits.rows, self.validation[:, :READ_ROWS]).shares
        self.history["checks"].append(
            {
                "epoch": epoch,
                "step": epoch * self.stack.steps_per_epoch,
                "validation": _plain(scores),
                "loss": _plain(self.stack.loss),
                "shares": _plain(shares[self._first]),  # of the first seed
            }
        )
        return float(self.best.scores.min())

    def _save(self, epoch: int) -> None:
        state = {"stack": self.stack.state_dict(), "best": self.best.state_dict(), "history": self.history}
        write_checkpoint(self._folder.path, {**state, "epoch": epoch, "seconds": self.seconds})

    def _resume(self) -> int:
        """The number of epochs done."""
        state = read_checkpoint(self._folder.path, {})
        if state is None:
            return 0
        self.stack.load_state_dict(state["stack"])
        self.best.load_state_dict(state["best"])
        self.history, self.seconds = state["history"], state["seconds"]
        return int(state["epoch"])

    def evaluate(self) -> dict[str, Tensor]:
        """All measures on test rows, for every replica ``[R]`` or replica and column ``[R, D]``."""
        splits, seeds, how = self.splits, self.seeds, self.config.evaluation
        model, rows, test = self.stack.model, self.splits.rows, self.splits.index(2, self.seeds)
        generator = torch.Generator(splits.device).manual_seed(0)
        columns = splits.errors(reconstruct(model, rows, test), 2, seeds)
        rate, bound, _ = rates_and_bounds(model, rows, test, generator=generator)
        base = (splits.base * rows.split(rows.record)[2]).sum(-1)[test]
        density = log_likelihood(model, rows, test, splits.base, n_samples=how.n_samples, generator=generator)
        visible = ~self._hidden[:, model.likelihood.order]
        averages = expectations(model, rows, test, visible, n_samples=20, generator=generator)
        guessed = splits.errors(model.likelihood.decide(averages), 2, seeds, self._hidden)
        # expectations of log-normal numbers know no bounds, and one such column would drown all others
        guessed = torch.where(guessed.isfinite(), guessed.clamp(max=1.0), guessed)
        found = {
            "validation": self.best.scores,
            "error": columns.nanmean(-1),
            "columns": columns,
            "rate": rate.mean(-1),
            "elbo": (bound + base).mean(-1),
            "log_likelihood": density.mean(-1),
            "hidden": guessed.nanmean(-1),
            "hidden_columns": guessed,
        }
        # a run that never had a finite error has no best weights to be measured
        failed = ~self.best.scores.isfinite()
        return {name: torch.where(failed.view(-1, *[1] * (x.ndim - 1)), torch.nan, x) for name, x in found.items()}

    def conflicts(self, shown: dict[str, int]) -> dict[str, Any]:
        """Shares of the gradient over training, and cosines at the best weights, of some choices (first seed)."""
        checks = self.history["checks"]
        reading = head_gradients(self.stack.model, self.splits.rows, self.validation[:, :READ_ROWS])
        found: dict[str, Any] = {"steps": [check["step"] for check in checks]}
        for label, choice in shown.items():
            cosines = reading.cosines[self._first[choice]]
            found[label] = {"shares": [check["shares"][choice] for check in checks], "cosines": _plain(cosines)}
        return found


def hidden_cells(config: TableExperiment, n: int, n_columns: int) -> Tensor:
    """The cells of test rows that are guessed without being seen: none where there is nothing to guess them from."""
    if n_columns == 1:
        return torch.zeros(n, 1, dtype=torch.bool)
    most = 1 - 1 / n_columns
    if config.evaluation.hidden > most:
        raise ValueError(
            f"evaluation.hidden should be at most {most:.2f}: a row of {n_columns} columns needs a cell to guess "
            f"from. Found {config.evaluation.hidden}."
        )
    return torch.tensor(completely_at_random((n, n_columns), config.evaluation.hidden, seed=0))


def _by_choice(results: dict[str, Tensor], found: Sequence[Choice], n: int) -> list[dict[str, Any]]:
    """An entry for every choice, with a list over seeds for every measure."""
    return [
        {"method": c.method, "kl_weight": c.kl_weight, "restored": c.restored}
        | {name: _plain(values[i * n : (i + 1) * n]) for name, values in results.items()}
        for i, c in enumerate(found)
    ]


def _trivial(source: Source, splits: Splits) -> dict[str, Any]:
    """Errors of the mean or mode of the training rows, on test rows of the first seed."""
    train = source.table.rows(splits.parts[0][0])
    guess = trivial_guess(torch.tensor(train.values), torch.tensor(train.observed), source.schema)
    test = splits.parts[0][2]
    errors = splits.errors(guess.to(splits.device).expand(1, len(test), -1), 2, splits.seeds[:1])[0]
    return {"columns": _plain(errors)}


def _generate(
    config: TableExperiment,
    splits: Splits,
    stack: Stack,
    folder: Folder,
    runs: list[dict[str, Any]],
    shown: dict[str, int],
) -> dict[str, Any]:
    """New rows of some choices (first seed) beside test rows, and how alike they are."""
    test = splits.truth[torch.tensor(splits.parts[0][2], device=splits.device)].cpu().numpy()
    n, n_seeds = min(config.evaluation.generate, len(test)), len(splits.seeds)
    arrays = {"real": test[:n]}
    for label, choice in shown.items():
        model = splits.network(splits.seeds[:1])
        replica = choice * n_seeds
        weights = stack.model.state_dict().items()
        model.load_state_dict({k: w[replica : replica + 1] if len(w) == len(stack.runs) else w for k, w in weights})
        arrays[label] = generate_rows(splits, model, splits.seeds[0], n)
        score = quality(test, arrays[label], splits.schema).score
        runs[choice]["quality"] = [_number(score)] + [None] * (n_seeds - 1)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
    folder.write("samples.npz", packed.getvalue())
    return {"labels": list(shown), "runs": list(shown.values()), "seed": splits.seeds[0]}


def generate_rows(splits: Splits, model: Family, seed: int, n: int) -> np.ndarray[Any, Any]:
    """Rows of one replica, in the units of the data.

    As in the paper, z comes from a mixture of 100 Gaussians that is fitted to the codes of training rows; HI-VAE's
    prior is a mixture already.
    """
    generator = torch.Generator(splits.device).manual_seed(seed)
    if model.prior_is_mixture:
        return rows_from_prior(model, n, generator)
    train = splits.index(0, [seed])[0][:MIXTURE_ROWS]
    codes = encode(model, splits.rows, train, generator=generator)[0].cpu().numpy()
    drawn = LatentMixture(100).fit(codes, seed).sample(n, np.random.default_rng(seed))
    return rows_from_codes(model, drawn, generator)


def _plain(values: Tensor) -> Any:
    """Nested lists of short numbers, None where they are not finite."""
    found = values.tolist()

    def short(x: Any) -> Any:
        return [short(y) for y in x] if isinstance(x, list) else _number(x)

    return short(found)


def _number(x: float) -> float | None:
    return float(f"{x:.5g}") if np.isfinite(x) else None
