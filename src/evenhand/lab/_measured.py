"""What is measured of replicas on validation and test rows, and of the gradients of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..tables.families import Family
from ..tables.frames import completely_at_random
from ..tables.inference import (
    expectations,
    head_gradients,
    log_likelihood,
    rates_and_bounds,
    reconstruct,
    trivial_guess,
)
from ._config import TableExperiment
from ._splits import Source, Splits
from .results import OPPOSED

READ_ROWS = 512  # of the validation rows, on which gradients are looked at
GUESSES = 20  # samples of z for a hidden cell
MOST_COSINES = 100  # columns; of more, those are kept that are in conflict most
VALIDATION, TEST = 1, 2  # parts of a split


class Measures:
    """All that is measured on rows that were not trained on.

    Args:
        config: The experiment.
        splits: Its rows.
        seeds: The seed of every replica.
    """

    def __init__(self, config: TableExperiment, splits: Splits, seeds: Sequence[int]) -> None:
        self._config, self._splits, self._seeds = config, splits, list(seeds)
        self.validation = splits.index(VALIDATION, seeds)
        first = [r for r, seed in enumerate(seeds) if seed == splits.seeds[0]]  # of every choice
        self._first = torch.tensor(first, device=splits.device)
        n = len(splits.schema)
        self.hidden = {
            part: hidden_cells(config, len(splits.parts[0][part]), n).to(splits.device) for part in (VALIDATION, TEST)
        }

    def on_validation(self, model: Family) -> tuple[Tensor, Tensor]:
        """By which the best weights are chosen, ``[R]``, and the shares of the gradient of every choice's first seed.

        Where cells are hidden in training, half of the score is the error of hidden cells.
        """
        splits, rows = self._splits, self._splits.rows
        guess = reconstruct(model, rows, self.validation)
        scores = splits.errors(guess, VALIDATION, self._seeds).nanmean(-1)
        if self._config.training.hide and len(splits.schema) > 1:
            hidden = self.hidden[VALIDATION]
            guess = reconstruct(model, rows, self.validation, ~hidden[:, model.likelihood.order])
            unseen = splits.errors(guess, VALIDATION, self._seeds, hidden).nanmean(-1)
            scores = torch.where(unseen.isfinite(), (scores + unseen) / 2, scores)
        return scores, head_gradients(model, rows, self.validation[:, :READ_ROWS]).shares[self._first]

    def rates(self, model: Family) -> Tensor:
        """The rate of every replica on validation rows, ``[R]``."""
        generator = torch.Generator(self._splits.device).manual_seed(0)
        return rates_and_bounds(model, self._splits.rows, self.validation, generator=generator)[0].mean(-1)

    def on_test(self, model: Family, validation: Tensor) -> dict[str, Tensor]:
        """Measures of every replica ``[R]`` or replica and column ``[R, D]``; `validation` has its best scores."""
        generator = torch.Generator(self._splits.device).manual_seed(0)
        found = {"validation": validation, **self._all(model, TEST, generator)}
        chosen_by = self._all(model, VALIDATION, generator)
        # by which a method is chosen for a purpose
        found |= {f"validation_{name}": chosen_by[name] for name in ("error", "hidden", "log_likelihood")}
        # a run that never had a finite error has no best weights to be measured
        failed = ~validation.isfinite()
        return {name: torch.where(failed.view(-1, *[1] * (x.ndim - 1)), torch.nan, x) for name, x in found.items()}

    def _all(self, model: Family, part: int, generator: torch.Generator) -> dict[str, Tensor]:
        splits, rows, index = self._splits, self._splits.rows, self._splits.index(part, self._seeds)
        columns = splits.errors(reconstruct(model, rows, index), part, self._seeds)
        rate, bound, _ = rates_and_bounds(model, rows, index, generator=generator)
        base = (splits.base * rows.split(rows.record)[2]).sum(-1)[index]
        n_samples = self._config.evaluation.n_samples
        density = log_likelihood(model, rows, index, splits.base, n_samples=n_samples, generator=generator)
        hidden = self._hidden_errors(model, part, index, generator)
        return {
            "error": columns.nanmean(-1),
            "columns": columns,
            "rate": rate.mean(-1),
            "elbo": (bound + base).mean(-1),
            "log_likelihood": density.mean(-1),
            "hidden": hidden.nanmean(-1),
            "hidden_columns": hidden,
        }

    def _hidden_errors(self, model: Family, part: int, index: Tensor, generator: torch.Generator) -> Tensor:
        hidden, order = self.hidden[part], model.likelihood.order
        rows = self._splits.rows
        averages = expectations(model, rows, index, ~hidden[:, order], n_samples=GUESSES, generator=generator)
        guessed = self._splits.errors(model.likelihood.decide(averages), part, self._seeds, hidden)
        # expectations of log-normal numbers know no bounds, and one such column would drown all others
        return torch.where(guessed.isfinite(), guessed.clamp(max=1.0), guessed)

    def conflicts(
        self, model: Family, checks: Sequence[Mapping[str, Any]], shown: Mapping[str, int]
    ) -> dict[str, Any]:
        """Shares of the gradient over training, and cosines at the best weights, of some choices (first seed)."""
        reading = head_gradients(model, self._splits.rows, self.validation[:, :READ_ROWS])
        cosines = {label: reading.cosines[self._first[choice]] for label, choice in shown.items()}
        found: dict[str, Any] = {"steps": [check["step"] for check in checks]}
        kept = list(range(len(self._splits.schema)))
        if len(kept) > MOST_COSINES:
            kept = found["columns"] = _in_conflict(next(iter(cosines.values())))
        for label, choice in shown.items():
            some = cosines[label][kept][:, kept]
            found[label] = {"shares": [check["shares"][choice] for check in checks], "cosines": plain(some)}
            if "columns" in found:
                found[label]["n_opposed"] = int((cosines[label].triu(1) < OPPOSED).sum())
        return found


def _in_conflict(cosines: Tensor) -> list[int]:
    """The columns with the lowest cosines, in their order."""
    lowest = cosines.nan_to_num(1.0).min(-1).values
    return sorted(lowest.argsort()[:MOST_COSINES].tolist())


def hidden_cells(config: TableExperiment, n: int, n_columns: int) -> Tensor:
    """The cells of rows that are guessed without being seen: none where there is nothing to guess them from."""
    if n_columns == 1:
        return torch.zeros(n, 1, dtype=torch.bool)
    most = 1 - 1 / n_columns
    if config.evaluation.hidden > most:
        raise ValueError(
            f"evaluation.hidden should be at most {most:.2f}: a row of {n_columns} columns needs a cell to guess "
            f"from. Found {config.evaluation.hidden}."
        )
    return torch.tensor(completely_at_random((n, n_columns), config.evaluation.hidden, seed=0))


def trivial(source: Source, splits: Splits, hidden: Tensor) -> dict[str, Any]:
    """Errors of the mean or mode of the training rows, on all and on hidden cells of test rows of the first seed."""
    train = source.table.rows(splits.parts[0][0])
    guess = trivial_guess(torch.tensor(train.values), torch.tensor(train.observed), source.schema)
    everywhere = guess.to(splits.device).expand(1, len(splits.parts[0][TEST]), -1)
    return {
        "columns": plain(splits.errors(everywhere, TEST, splits.seeds[:1])[0]),
        "hidden_columns": plain(splits.errors(everywhere, TEST, splits.seeds[:1], hidden)[0]),
    }


def plain(values: Tensor) -> Any:
    """Nested lists of short numbers, None where they are not finite."""
    found = values.tolist()

    def short(x: Any) -> Any:
        return [short(y) for y in x] if isinstance(x, list) else short_number(x)

    return short(found)


def short_number(x: float) -> float | None:
    """A number with five digits, None if it is not finite."""
    return float(f"{x:.5g}") if np.isfinite(x) else None
