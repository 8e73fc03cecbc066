"""Columns of every kind with some values, and natural parameters for them."""

import numpy as np
import torch
from torch.nn import functional as F

from evenhand.tables.frames import RawTable
from evenhand.tables.kinds._gaussian import natural
from evenhand.tables.schema import Column, Schema

MOMENTS = [(0.0, 1.0), (-2.0, 0.3), (0.7, 4.0), (3.0, 1e-4)]  # mean and variance of the standardised column
RANDOM = np.random.default_rng(0)
REAL = (Column("x", "real"), RANDOM.normal(50, 7, 30))
POSITIVE = (Column("x", "positive"), RANDOM.lognormal(2, 0.6, 30))
FROM_ZERO = (Column("x", "count"), [0, 2, 5])
FROM_ONE = (Column("x", "count"), [1, 2, 5])
BINARY = (Column("x", "binary", ("f", "m")), [0, 1])
CATEGORICAL = (Column("x", "categorical", tuple("abcd")), [0, 1, 2, 3])
ORDINAL = (Column("x", "ordinal", (1, 2, 3, 4)), [0, 1, 2, 3])


def eta_of(mean, variance):
    return natural(torch.tensor([mean]), torch.tensor([variance]))


def squared_norms(heads, eta, u):
    leaf = eta.expand(len(u), -1).clone().requires_grad_()
    heads.log_prob(leaf, heads.targets(u.unsqueeze(-1)), natural=True).sum().backward()
    return leaf.grad.square().sum(-1)


def certain(heads, fitted, raw, precision=1e10):
    """Natural parameters that leave no doubt about the cells of a table, ``[1, N, P]``."""
    values = fitted.encode(raw).values.double()
    eta = torch.zeros(1, len(values), heads.n_parameters)
    for d, column in enumerate(heads.schema):
        own = (heads.heads == heads.order.index(d)).nonzero().flatten()
        x = values[:, d]
        if column.kind in ("real", "positive"):
            eta[0, :, own] = torch.stack([x * precision, torch.full_like(x, -0.5 * precision)], -1)
        elif column.kind == "count":
            eta[0, :, own[0]] = torch.log(x + 0.5)
        elif column.kind == "binary":
            eta[0, :, own[0]] = 1000 * (x - 0.5)
        else:
            eta[0, :, own] = 1000 * F.one_hot(x.long(), column.size).double()
    return eta


def one(column, *values):
    return RawTable(np.array(values, dtype=float)[:, None], np.ones((len(values), 1), dtype=bool)), Schema((column,))


EVERY = {
    "real": REAL,
    "positive": POSITIVE,
    "positive with zeros": (Column("x", "positive", zero_offset=0.5), [0.0, 2, 5, 0, 3, 1]),
    "count from 0": FROM_ZERO,
    "count from 1": FROM_ONE,
    "binary": BINARY,
    "categorical": CATEGORICAL,
    "ordinal": ORDINAL,
}
