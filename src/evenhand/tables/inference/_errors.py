"""Errors of guessed cells, column by column."""

from __future__ import annotations

import torch
from torch import Tensor

from ..schema import Schema

# In all functions: truth is [N, D], guess [..., N, D] with any replica axes in front, scored [N, D]. Which column
# is of which kind is decided by indexing, never by a tensor made on the host: nothing here waits for a GPU.


def column_errors(
    truth: Tensor, guess: Tensor, scored: Tensor, schema: Schema, *, ranges: Tensor | None = None
) -> Tensor:
    r"""The error of every column over the scored cells, as the paper defines it.

    .. math:: \frac{1}{\max x - \min x} \sqrt{\frac{1}{n} \sum_i (x_i - \hat x_i)^2} \text{ for numbers}, \qquad
              \frac{1}{n} \sum_i [x_i \ne \hat x_i] \text{ for classes.}

    A guess that is not a number is wrong for a class and infinitely wrong for a number. A cell whose truth is
    missing is never scored. The range of a constant column counts as 1.

    Args:
        truth: The true table in original units, ``[N, D]``, NaN where unknown.
        guess: The guessed tables, ``[..., N, D]``.
        scored: Which cells count, ``[N, D]``.
        schema: The columns.
        ranges: The range of every column, ``[D]``; that of ``truth`` if None.

    Returns:
        One error per column, ``[..., D]``; NaN where nothing is scored.
    """
    scored = _check(truth, guess, scored, schema)
    if ranges is None:
        ranges = _ranges(truth)
    numeric = _rmse(truth, guess, scored) / _never_zero(ranges)
    nominal = _mean((guess != truth).to(numeric.dtype), scored)
    return _choose(numeric, nominal, schema)


def relative_rmse(
    truth: Tensor, guess: Tensor, scored: Tensor, schema: Schema, *, deviations: Tensor | None = None
) -> Tensor:
    """The root mean square error of numbers divided by their standard deviation: 1 is no better than the mean.

    Unlike the range, the standard deviation is not decided by a single outlier.

    Args:
        truth: The true table, ``[N, D]``, NaN where unknown.
        guess: The guessed tables, ``[..., N, D]``.
        scored: Which cells count, ``[N, D]``.
        schema: The columns.
        deviations: The standard deviation of every column, ``[D]``; that of ``truth`` if None.

    Returns:
        One number per column, ``[..., D]``; NaN for classes and where nothing is scored.
    """
    scored = _check(truth, guess, scored, schema)
    if deviations is None:
        deviations = _deviations(truth)
    numeric = _rmse(truth, guess, scored) / _never_zero(deviations)
    return _choose(numeric, torch.full_like(numeric, torch.nan), schema)


def macro_class_errors(truth: Tensor, guess: Tensor, scored: Tensor, schema: Schema) -> Tensor:
    """One minus the recall, averaged over the classes that occur: a rare class counts as much as a common one.

    Args:
        truth: The true table, ``[N, D]``, NaN where unknown.
        guess: The guessed tables, ``[..., N, D]``.
        scored: Which cells count, ``[N, D]``.
        schema: The columns.

    Returns:
        One error per column, ``[..., D]``; NaN for numbers and where nothing is scored.
    """
    scored = _check(truth, guess, scored, schema)
    unknown = truth.new_full(guess.shape[:-2], torch.nan)
    errors = [
        _macro(truth[:, d], guess[..., d], scored[:, d], column.size) if column.kind.nominal else unknown
        for d, column in enumerate(schema)
    ]
    return torch.stack(errors, -1)


def trivial_guess(values: Tensor, observed: Tensor, schema: Schema) -> Tensor:
    """The best constant guess for every column: the mean of numbers, the most frequent class.

    Args:
        values: The training table, ``[N, D]``; cells that are not observed are ignored, NaN too.
        observed: Which cells are observed, ``[N, D]``.
        schema: The columns.

    Returns:
        One value per column, ``[D]``; NaN where nothing is observed.
    """
    observed = _check(values, values, observed, schema)
    means = _mean(values, observed)
    guesses = [
        _mode(values[:, d], observed[:, d], column.size) if column.kind.nominal else means[d]
        for d, column in enumerate(schema)
    ]
    return torch.stack(guesses)


def summary(errors: Tensor, schema: Schema) -> dict[str, Tensor]:
    """The mean of the errors over all columns, over numbers, over classes, and over every kind that occurs.

    Args:
        errors: One error per column, ``[..., D]``; columns that are NaN are left out of the means.
        schema: The columns.

    Returns:
        Means ``[...]`` under ``"error"``, ``"numeric"``, ``"nominal"`` and the names of the kinds.
    """
    columns = list(schema)
    if errors.shape[-1:] != (len(columns),):
        raise ValueError(f"errors should have the shape [..., {len(columns)}]. Found {list(errors.shape)}.")
    groups: dict[str, list[int]] = {"error": list(range(len(columns)))}
    groups["numeric"] = [d for d, column in enumerate(columns) if column.kind.numeric]
    groups["nominal"] = [d for d, column in enumerate(columns) if column.kind.nominal]
    for d, column in enumerate(columns):
        groups.setdefault(column.kind.value, []).append(d)
    return {
        name: torch.stack([errors[..., d] for d in members], -1).nanmean(-1)
        for name, members in groups.items()
        if members
    }


def _check(truth: Tensor, guess: Tensor, scored: Tensor, schema: Schema) -> Tensor:
    """The cells that are scored and have a truth, once all shapes are right."""
    n_columns = len(list(schema))
    if truth.ndim != 2 or truth.shape[1] != n_columns:
        raise ValueError(f"The table should have the shape [N, {n_columns}]. Found {list(truth.shape)}.")
    if guess.shape[-2:] != truth.shape:
        raise ValueError(
            f"guess should have the shape [..., {', '.join(map(str, truth.shape))}]. Found {list(guess.shape)}."
        )
    if scored.shape != truth.shape or scored.dtype != torch.bool:
        raise ValueError(
            f"The mask should be of booleans of the shape {list(truth.shape)}. "
            f"Found {scored.dtype} of the shape {list(scored.shape)}."
        )
    return scored & ~truth.isnan()


def _choose(numeric: Tensor, nominal: Tensor, schema: Schema) -> Tensor:
    columns = enumerate(schema)
    return torch.stack([(numeric if c.kind.numeric else nominal)[..., d] for d, c in columns], -1)


def _mean(values: Tensor, where: Tensor) -> Tensor:
    """The mean over the rows; NaN where no row counts."""
    return torch.where(where, values, 0.0).sum(-2) / where.sum(-2)


def _rmse(truth: Tensor, guess: Tensor, where: Tensor) -> Tensor:
    squares = (guess - truth).square()
    return _mean(squares.nan_to_num(torch.inf, torch.inf), where).sqrt()


def _ranges(values: Tensor) -> Tensor:
    known = ~values.isnan()
    if not len(values):
        return values.new_ones(values.shape[1])
    return values.where(known, -torch.inf).amax(0) - values.where(known, torch.inf).amin(0)


def _deviations(values: Tensor) -> Tensor:
    known = ~values.isnan()
    return _mean((values - _mean(values, known)).square(), known).sqrt()


def _never_zero(scale: Tensor) -> Tensor:
    return torch.where(scale == 0, 1.0, scale)


def _macro(truth: Tensor, guess: Tensor, scored: Tensor, n_classes: int) -> Tensor:
    of_class = (truth.unsqueeze(-1) == torch.arange(n_classes, device=truth.device)) & scored.unsqueeze(-1)
    weights = of_class.to(truth.dtype)  # [N, C]
    counts = weights.sum(0)
    recall = (guess == truth).to(truth.dtype) @ weights / counts  # [..., C]
    present = counts > 0
    return torch.where(present, 1 - recall, 0.0).sum(-1) / present.sum()


def _mode(values: Tensor, observed: Tensor, n_classes: int) -> Tensor:
    of_class = values.unsqueeze(-1) == torch.arange(n_classes, device=values.device)
    counts = (of_class & observed.unsqueeze(-1)).sum(0)
    return torch.where(observed.any(), counts.argmax().to(values.dtype), torch.nan)
