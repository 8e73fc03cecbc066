"""Small tables of all kinds in shuffled order, and small stacks of models on them."""

import numpy as np
import torch

from evenhand.impartial import Sum
from evenhand.tables.families import HIVAE, VAE
from evenhand.tables.frames import RawTable
from evenhand.tables.kinds import Batch, Preprocessing, TableLikelihood
from evenhand.tables.schema import Column, Schema
from evenhand.tables.stack import Rows, Run, Stack

# no kind stands beside its like, and categories of one size are of two kinds
SCHEMA = Schema(
    (
        Column("region", "categorical", ("n", "e", "s", "w")),
        Column("income", "real"),
        Column("visits", "count"),  # from one
        Column("sex", "binary", ("f", "m")),
        Column("grade", "ordinal", (1, 2, 3)),
        Column("price", "positive"),
        Column("warmth", "real"),
        Column("colour", "categorical", ("red", "green", "blue")),
        Column("children", "count"),
        Column("area", "positive"),
        Column("member", "binary", (False, True)),
    )
)


def table(n=60, seed=0, missing=0.2):
    """Rows of the schema in which everything depends on everything."""
    random = np.random.default_rng(seed)
    hidden = random.normal(size=n)
    columns = [
        np.digitize(hidden + random.normal(size=n), [-1, 0, 1]),
        50 + 7 * hidden + 3 * random.normal(size=n),
        1 + random.poisson(np.exp(1 + 0.5 * hidden)),
        hidden + random.normal(size=n) > 0,
        np.digitize(hidden + 0.5 * random.normal(size=n), [-0.5, 0.8]),
        np.exp(3 - hidden + 0.5 * random.normal(size=n)),
        -hidden + random.normal(size=n),
        random.integers(0, 3, n),
        random.poisson(np.exp(0.3 - 0.4 * hidden)),
        random.lognormal(1, 0.3, n),
        random.random(n) < 0.7,
    ]
    values = np.stack(columns, 1).astype(float)
    return RawTable(values, random.random(values.shape) >= missing)


def likelihood(schema=SCHEMA, raw=None, *, replicas=1, positive="log", **options):
    raw = table(missing=0.0) if raw is None else raw
    fitted = Preprocessing.fit(raw, schema, positive=positive)
    return TableLikelihood(schema, [fitted] * replicas, **options), fitted


def one_column(column, values, positive="log"):
    """The likelihood of a table with one column, fitted on some values, and its preprocessing."""
    values = np.asarray(values, dtype=float)[:, None]
    raw = RawTable(values, np.ones(values.shape, dtype=bool))
    schema = Schema((column,))
    fitted = Preprocessing.fit(raw, schema, positive=positive)
    return TableLikelihood(schema, [fitted]), fitted


def log_density(heads, fitted, eta, x):
    """log p in original units of numbers x ``[N]`` of the only column, at natural parameters ``[P]``."""
    x = torch.as_tensor(x, dtype=torch.float64)
    coded = x
    kind = heads.schema.columns[0].kind
    if kind == "positive":
        coded = torch.log(x + fitted.offset)
    values = ((coded - fitted.centre - fitted.shift) / fitted.scale).unsqueeze(-1)
    log_p = heads.log_prob(eta.expand(len(x), -1), heads.targets(values), natural=True)
    return (log_p + heads.base(values, fitted)).squeeze(-1)


def raw_parameters(heads, *shape, seed=3, size=1.0):
    generator = torch.Generator().manual_seed(seed)
    return size * torch.randn(*shape, heads.n_parameters, generator=generator)


def batch(n=60, seed=0, missing=0.2, positive="log"):
    raw = table(n, seed, missing)
    fitted = Preprocessing.fit(raw, SCHEMA, positive=positive)
    return fitted.encode(raw), fitted


def garbled(clean, seed=9):
    """The same batch with other values in the cells that are missing."""
    random = np.random.default_rng(seed)
    other = np.stack([random.integers(1, max(c.size, 2), len(clean)) for c in SCHEMA], 1)
    values = torch.where(clean.mask, clean.values, torch.tensor(other, dtype=clean.values.dtype))
    assert (values != clean.values).any()
    return Batch(values, clean.mask)


def rows_for(model, data, heads, **options):
    return Rows.encode(data, heads, encoding="hivae" if model == "hivae" else "one-hot", **options)


def build(model, rows, heads, seeds):
    if model == "hivae":
        return HIVAE(rows.n_inputs, heads, seeds=seeds, n_latent=3, n_components=3, n_y=2)
    return VAE(rows.n_inputs, heads, seeds=seeds, n_latent=2, n_hidden=6, n_layers=2)


def stack(runs=None, model="vae", data=None, *, train=None, rows_options=None, **options):
    """A stack on the table of this folder; options are those of `Stack`."""
    runs = [Run(0, Sum())] if runs is None else runs
    positive = "log1p" if model == "hivae" else "log"
    given, fitted = batch(positive=positive)
    data = given if data is None else data
    heads = TableLikelihood(SCHEMA, [fitted])
    rows = rows_for(model, data, heads, **(rows_options or {}))
    seeds = list(dict.fromkeys(run.seed for run in runs))
    train = torch.arange(len(data)).expand(len(seeds), -1) if train is None else train
    if model == "hivae":
        options.setdefault("dropout", 0.0)
    options.setdefault("batch_size", 16)
    return Stack(build(model, rows, heads, [run.seed for run in runs]), runs, rows, train, **options)


def parameters(stack):
    return {name: p.detach().clone() for name, p in stack.model.named_parameters()}
