"""Peers that generate tables in original units: ``generate(rows) -> Generated``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from _rows import Generated, Rows
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]
EPOCHS = 100  # of TVAE and CTGAN, whose default is 300: a third of their time
FOREST_ROWS = 2000  # of forest diffusion, whose time is proportional to 100 copies of the rows


def real_rows(rows: Rows) -> Generated:
    """The training rows themselves: the ceiling of likeness, and what a copy looks like."""
    return Generated({"": rows.train})


def independent(rows: Rows) -> Generated:
    """Every column drawn on its own from its training cells: perfect shapes, no relations."""
    rng = np.random.default_rng(rows.seed)
    return Generated({"": np.stack([rng.choice(column, rows.n) for column in rows.train.T], -1)})


def gaussian_copula(rows: Rows) -> Generated:
    """Empirical marginals tied together by the correlations of their normal scores.

    A value that occurs more than once, as every class does, owns an interval of the cumulative frequencies; its
    scores are spread evenly over it. Numbers and classes are thus treated alike.
    """
    made = Generated()
    with made.timed("fit and sample"):
        rng, train = np.random.default_rng(rows.seed), rows.train
        ordered = np.sort(train, axis=0)
        scores = np.stack([_normal_scores(*pair, rng) for pair in zip(train.T, ordered.T, strict=True)], -1)
        correlations = np.atleast_2d(np.corrcoef(scores, rowvar=False))
        draws = rng.multivariate_normal(np.zeros(train.shape[1]), correlations, rows.n, method="eigh")
        places = np.minimum((ndtr(draws) * len(train)).astype(int), len(train) - 1)
        made.tables[""] = np.take_along_axis(ordered, places, axis=0)
    return made


def tvae(rows: Rows) -> Generated:
    """TVAE as the package ctgan ships it, classes by argmax; and the same weights with classes drawn."""
    from ctgan import TVAE

    made = Generated(note=f"{EPOCHS} epochs")
    with made.timed("fit and sample"):
        model = TVAE(epochs=EPOCHS)
        model.set_random_state(rows.seed)
        model.fit(_frame(rows.train), _discrete(rows))
        made.tables["as shipped"] = model.sample(rows.n).to_numpy(np.float64)
    made.tables["classes sampled"] = _sample_classes(model, rows.n, rows.seed).to_numpy(np.float64)
    return made


def ctgan(rows: Rows) -> Generated:
    """CTGAN of the package ctgan."""
    from ctgan import CTGAN

    made = Generated(note=f"{EPOCHS} epochs")
    with made.timed("fit and sample"):
        model = CTGAN(epochs=EPOCHS)
        model.set_random_state(rows.seed)
        model.fit(_frame(rows.train), _discrete(rows))
        made.tables[""] = model.sample(rows.n).to_numpy(np.float64)
    return made


def forest_diffusion(rows: Rows) -> Generated:
    """Flow matching with XGBoost (ForestDiffusion), its defaults but for the rows: some are all it can take."""
    from ForestDiffusion import ForestDiffusionModel

    made = Generated(note=f"{FOREST_ROWS} training rows, 20 copies and 20 noise levels (defaults: all, 100 and 50)")
    columns = list(rows.schema)
    with made.timed("fit and sample"):
        model = ForestDiffusionModel(
            rows.train[:FOREST_ROWS],
            n_t=20,
            duplicate_K=20,
            bin_indexes=[d for d in _nominal(rows) if columns[d].size == 2],
            cat_indexes=[d for d in _nominal(rows) if columns[d].size > 2],
            int_indexes=[d for d, column in enumerate(columns) if column.kind.numeric and column.kind.whole],
            n_jobs=1,
            seed=rows.seed,
        )
        made.tables[""] = model.generate(batch_size=rows.n).astype(np.float64)
    return made


def _nominal(rows: Rows) -> list[int]:
    return [d for d, column in enumerate(rows.schema) if column.kind.nominal]


def _discrete(rows: Rows) -> list[str]:
    return [str(d) for d in _nominal(rows)]


@torch.no_grad()
def _sample_classes(model: Any, n: int, seed: int) -> Any:
    """What ``TVAE.sample`` does, except that one-hot groups are drawn before its transformer looks for their largest.

    The transformer has two kinds of groups: classes, and the component of the mixture that a number comes from.
    Both are distributions in training, so both are drawn here.
    """
    device = next(model.decoder.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(n, model.embedding_dim, generator=generator)
    logits, sigmas = (tensor.cpu() for tensor in model.decoder.eval()(noise.to(device)))
    spans = [span for column in model.transformer.output_info_list for span in column]
    parts = logits.split([span.dim for span in spans], dim=-1)
    groups = [
        _one_hot_draws(part, generator) if span.activation_fn == "softmax" else part.tanh()
        for part, span in zip(parts, spans, strict=True)
    ]
    state = np.random.get_state()  # the transformer draws from the global generator
    np.random.seed(seed)
    rows = model.transformer.inverse_transform(torch.cat(groups, -1).numpy(), sigmas.numpy())
    np.random.set_state(state)
    return rows


def _one_hot_draws(logits: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    classes = torch.multinomial(logits.softmax(-1), 1, generator=generator)
    return torch.zeros_like(logits).scatter_(-1, classes, 1.0)


def _normal_scores(column: Array, ordered: Array, rng: np.random.Generator) -> Array:
    below, up_to = (np.searchsorted(ordered, column, side) for side in ("left", "right"))
    # an end of the unit interval would have an infinite score
    place = (below + (up_to - below) * rng.uniform(1e-6, 1 - 1e-6, len(column))) / len(column)
    return ndtri(place)


def _frame(train: Array) -> pd.DataFrame:
    """A DataFrame whose whole numbers are integers, so that TVAE gives back whole numbers."""
    columns = {str(d): column for d, column in enumerate(train.T)}
    return pd.DataFrame({d: c.astype(int) if (c == c.round()).all() else c for d, c in columns.items()})
