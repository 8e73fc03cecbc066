"""Curves of acquisition: the error of a target against the number of cells that were asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from evenhand import datasets
from evenhand.tables import Schema, TabularVAE

TARGETS = {"wine": "alcohol", "labour": "re78", "diamonds": "price"}
"""What is to be known of every table."""

N_TRAIN, N_TEST, N_SAMPLES, COPIES = 1500, 200, 30, 3
Ask = Callable[[pd.DataFrame], list[str | None]]
"""From rows with missing cells to the column to ask for in every row."""


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to learn from, rows to ask about, and what is to be known of them."""

    train: pd.DataFrame
    test: pd.DataFrame
    schema: Schema
    target: str

    @classmethod
    def load(cls, name: str, seed: int) -> Task:
        """Some rows of a public table; other ones for every seed."""
        found = datasets.load(name)
        rows = found.frame.sample(N_TRAIN + N_TEST, random_state=seed).reset_index(drop=True)
        test = rows[N_TRAIN:].reset_index(drop=True)
        return cls(rows[:N_TRAIN], test, found.schema, TARGETS[name])

    @property
    def others(self) -> list[str]:
        """The columns that can be asked for."""
        return [name for name in self.schema.names if name != self.target]

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return next(column.kind.numeric for column in self.schema if column.name == name)

    def error(self, guess: pd.Series) -> float:
        """The root of the mean square in deviations of the column, or the share of wrong categories."""
        truth = self.test[self.target]
        if not self.is_number(self.target):
            return float((guess.astype(str) != truth.astype(str)).mean())
        wrong = guess.to_numpy(float) - truth.to_numpy(float)
        return float(np.sqrt(np.mean(wrong**2)) / truth.to_numpy(float).std())


def curve(task: Task, model: TabularVAE, ask: Ask) -> list[float]:
    """The error of the target after 0, 1, ... cells of every row, from rows of which nothing is known."""
    rows = pd.DataFrame(None, index=task.test.index, columns=task.test.columns, dtype=object)
    errors = [task.error(model.transform(rows)[task.target])]
    for _ in task.others:
        for row, column in enumerate(ask(rows)):
            if column is not None:
                rows.loc[row, column] = task.test.loc[row, column]
        errors.append(task.error(model.transform(rows)[task.target]))
    return errors


def by_reward(task: Task, model: TabularVAE) -> Ask:
    """What the model expects to tell most."""

    def ask(rows: pd.DataFrame) -> list[str | None]:
        return [next(iter(wish), None) for wish in model.acquire(rows, task.target, n_samples=N_SAMPLES)]

    return ask


def by_order(orders: list[list[str]]) -> Ask:
    """A fixed order for every row."""

    def ask(rows: pd.DataFrame) -> list[str | None]:
        missing = rows.isna()
        return [next((c for c in order if missing.loc[i, c]), None) for i, order in enumerate(orders)]

    return ask


def random_orders(task: Task, seed: int) -> list[list[str]]:
    """Another order for every row."""
    rng = np.random.default_rng(seed)
    return [list(rng.permutation(task.others)) for _ in range(len(task.test))]


def information_order(task: Task, seed: int) -> list[list[str]]:
    """One order for all rows: by mutual information with the target in training rows, as scikit-learn has it."""
    codes = {name: _codes(task.train[name], task.is_number(name)) for name in task.schema.names}
    estimate = mutual_info_regression if task.is_number(task.target) else mutual_info_classif
    features = np.stack([codes[name] for name in task.others], 1)
    discrete = np.array([not task.is_number(name) for name in task.others])
    nats = estimate(features, codes[task.target], discrete_features=discrete, random_state=seed)
    order = [task.others[i] for i in np.argsort(-nats, kind="stable")]
    return [order] * len(task.test)


def _codes(cells: pd.Series, number: bool) -> NDArray[np.float64]:
    return cells.to_numpy(float) if number else pd.factorize(cells)[0].astype(float)


def with_holes(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Copies of rows, each with holes of its own, from none to all cells: rows that are asked about begin empty.

    `hide` would not do: cells that it hides are scored, and q(z|x) is not the posterior given the visible ones then.
    """
    rng = np.random.default_rng(seed)
    copies = [rows.astype(object).mask(rng.random(rows.shape) < rng.random((len(rows), 1))) for _ in range(COPIES)]
    return pd.concat(copies, ignore_index=True)


def curves(name: str, seed: int, family: str, steps: int, *, trees: bool = False) -> dict[str, list[float]]:
    """The curves of one table and one seed, by who asks; with trees, boosted trees have a say in guesses."""
    task = Task.load(name, seed)
    rows = with_holes(task.train, seed)
    epochs = steps // (int(0.9 * len(rows)) // 256)
    options = {"method": "sum", "kl_weight": 1.0, "hide": 0.0, "n_hidden": 64, "n_layers": 2, "patience": 40}
    told = {"schema": task.schema, "max_epochs": epochs, "random_state": seed, "trees": trees, "verbose": False}
    model = TabularVAE(model=family, **told, **options)
    model.fit(rows)
    askers = {
        "reward": by_reward(task, model),
        "mutual information": by_order(information_order(task, seed)),
        "random": by_order(random_orders(task, seed)),
    }
    return {who: curve(task, model, ask) for who, ask in askers.items()}
