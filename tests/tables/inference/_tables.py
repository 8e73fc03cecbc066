"""Small tables of all kinds."""

import numpy as np
import torch

from evenhand.tables.schema import Column, Schema

SCHEMA = Schema(
    (
        Column("income", "real"),
        Column("age", "count"),
        Column("sex", "binary", ("f", "m")),
        Column("region", "categorical", ("north", "south", "west")),
    )
)


def table(n, seed=0):
    """Rows of the schema in which everything depends on everything."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    columns = [
        hidden + 0.5 * rng.normal(size=n),
        rng.poisson(np.exp(1 + 0.5 * hidden)),
        hidden + rng.normal(size=n) > 0.5,
        np.digitize(hidden + rng.normal(size=n), [-0.5, 1]),
    ]
    return np.stack(columns, -1).astype(float)


def tensors(n, seed=0):
    """A truth, two replicas of guesses and a mask."""
    truth = torch.tensor(table(n, seed))
    guess = torch.stack([torch.tensor(table(n, seed + 1)), torch.tensor(table(n, seed + 2))])
    scored = torch.tensor(np.random.default_rng(seed).random(truth.shape) < 0.5)
    return truth, guess, scored
