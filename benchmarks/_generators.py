"""Peers that generate tables in original units: ``fit_sample(train [N, D], schema, n, seed) -> [n, D]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from evenhand.tables import Schema

Array = NDArray[np.float64]
Generator = Callable[[Array, Schema, int, int], Array]


def independent(train: Array, schema: Schema, n: int, seed: int) -> Array:
    """Every column drawn on its own from its training cells: perfect shapes, no relations."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.choice(column, n) for column in _complete(train).T], -1)


def gaussian_copula(train: Array, schema: Schema, n: int, seed: int) -> Array:
    """Empirical marginals tied together by the correlations of their normal scores.

    A value that occurs more than once, as every class does, owns an interval of the cumulative frequencies; its
    scores are spread evenly over it. Numbers and classes are thus treated alike.
    """
    rng = np.random.default_rng(seed)
    ordered = np.sort(_complete(train), axis=0)
    scores = np.stack([_normal_scores(*pair, rng) for pair in zip(train.T, ordered.T, strict=True)], -1)
    correlations = np.atleast_2d(np.corrcoef(scores, rowvar=False))
    draws = rng.multivariate_normal(np.zeros(train.shape[1]), correlations, n, method="eigh")
    places = np.minimum((ndtr(draws) * len(train)).astype(int), len(train) - 1)
    return np.take_along_axis(ordered, places, axis=0)


def tvae(train: Array, schema: Schema, n: int, seed: int) -> Array:
    """TVAE as the package ctgan ships it: classes by argmax."""
    return sample_tvae(fit_tvae(train, schema, seed), n, seed)


def tvae_sampled(train: Array, schema: Schema, n: int, seed: int) -> Array:
    """The same model with the same weights; classes drawn from the probabilities that its decoder gives."""
    return sample_tvae(fit_tvae(train, schema, seed), n, seed, argmax=False)


GENERATORS: dict[str, Generator] = {
    "independent columns": independent,
    "Gaussian copula": gaussian_copula,
    "TVAE": tvae,
    "TVAE, classes sampled": tvae_sampled,
}


def fit_tvae(train: Array, schema: Schema, seed: int, *, epochs: int = 300) -> Any:
    """A trained TVAE, for `sample_tvae`; to decode it both ways without training it twice."""
    try:
        from ctgan import TVAE
    except ImportError as error:
        raise ImportError("This peer needs ctgan: pip install -c constraints.txt ctgan") from error

    model = TVAE(epochs=epochs)
    model.set_random_state(seed)
    discrete = [str(d) for d, column in enumerate(schema) if column.kind.nominal]
    model.fit(_frame(_complete(train)), discrete)
    return model


def sample_tvae(model: Any, n: int, seed: int, *, argmax: bool = True) -> Array:
    model.set_random_state(seed)
    rows = model.sample(n) if argmax else _sample_classes(model, n, seed)
    return rows.to_numpy(np.float64)


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


def _frame(train: Array) -> Any:
    """A DataFrame whose whole numbers are integers, so that TVAE gives back whole numbers."""
    import pandas as pd

    columns = {str(d): column for d, column in enumerate(train.T)}
    return pd.DataFrame({d: c.astype(int) if (c == c.round()).all() else c for d, c in columns.items()})


def _complete(train: Array) -> Array:
    if np.isnan(train).any():
        raise ValueError(f"train should have no missing cells. Found {np.isnan(train).sum()}.")
    return train
