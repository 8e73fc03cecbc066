"""What a model says about a batch, and the columns of the history that come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Axis = Literal["expert", "modality"]


class Step(NamedTuple):
    """What a model says about a batch.

    Attributes:
        loss: To be minimised: the mean over rows.
        bound: Mean of the objective over the rows.
        log_likelihood: Mean of log p(x_d | z) over the experts and samples of rows that have modality d, ``[D]``.
        rate: Mean of KL(q_A || p) over rows, ``[A]``.
        log_q: Mean of log q over samples.
        share: Mean over rows of every expert's share of the weights, ``[A]``.
        effective_experts: Mean over rows of how many experts share the weight.
        log_likelihood_from: Mean of log p(x_d | z_A) over rows, ``[A, D]``: how well an expert tells a modality.
        reconstruction: Mean of log p(x_d | z) over rows, where samples count as in the objective, ``[D]``.
        n_likelihood: How many pairs of an expert and a row are in the mean of a modality, ``[D]``.
        n_rate: How many rows are in the mean of an expert, ``[A]``.
        n_log_q: How many pairs of an expert and a row are in the mean of log q.
        n_likelihood_from: How many rows are in the mean of an expert and a modality, ``[A, D]``.
        n_reconstruction: How many rows have a modality, ``[D]``.
    """

    loss: Tensor
    bound: Tensor
    log_likelihood: Tensor
    rate: Tensor
    log_q: Tensor
    share: Tensor
    effective_experts: Tensor
    log_likelihood_from: Tensor
    reconstruction: Tensor
    n_likelihood: Tensor
    n_rate: Tensor
    n_log_q: Tensor
    n_likelihood_from: Tensor
    n_reconstruction: Tensor


@dataclass(frozen=True)
class Reading:
    """A mean that is kept of every batch: a column of the history, or one for each expert or modality.

    Attributes:
        name: Of the field of `Step`, and of the column.
        axes: What the axes of that tensor are.
        count: The field of `Step` that says how many things are in the mean; the rows of the batch if empty.
        what: Its name in an error where it is not finite; ``{}`` stands for the expert or modality.
        squared: Whether the mean is of squares, and the column shows its root.
    """

    name: str
    axes: tuple[Axis, ...] = ()
    count: str = ""
    what: str = "the objective"
    squared: bool = False

    def columns(self, names: Mapping[Axis, Sequence[str]]) -> list[str]:
        """The columns: ``rate/image``, ..."""
        return ["/".join([self.name, *parts]) for parts in product(*[names[axis] for axis in self.axes])]


# The one place that names the columns of a history, in their order. The loop adds two to what the model says:
# "gradient", the length of the whole gradient, and "gradient_norm", how long those of rows are at every expert.
READINGS = (
    Reading("bound"),
    Reading("log_likelihood", ("modality",), "n_likelihood", "the log-likelihood of {!r}"),
    Reading("rate", ("expert",), "n_rate", "the posterior of {!r}"),
    Reading("log_q", count="n_log_q", what="the density of the experts"),
    Reading("loss"),
    Reading("share", ("expert",), "n_rate", "the weights of {!r}"),
    Reading("effective_experts", what="the weights of the experts"),
    Reading("log_likelihood_from", ("expert", "modality"), "n_likelihood_from", "a log-likelihood from {!r}"),
    Reading("gradient", what="the gradient of a finite objective"),
    Reading("gradient_norm", ("expert",), "n_rate", "the gradient at the posterior of {!r}", squared=True),
)

# Causes come before their consequences: a posterior spoils everything, a decoder its own likelihood.
_CAUSES = ("rate", "log_likelihood", "log_q")


def columns_of(names: Mapping[Axis, Sequence[str]]) -> list[str]:
    """All columns of the history of a model whose modalities and experts have these names."""
    return [column for reading in READINGS for column in reading.columns(names)]


def means_and_counts(step: Step, gradient: Tensor, squares: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
    """The numbers of all columns, and how many things are in each mean.

    Args:
        step: What the model says.
        gradient: The length of the whole gradient.
        squares: The squared lengths of the gradients at the experts, summed over rows, ``[A]``.
        n_rows: Rows of the batch.
    """
    norms = squares / step.n_rate.clamp(min=1)
    tensors = {**step._asdict(), "gradient": gradient, "gradient_norm": norms}
    rows = torch.full_like(step.bound, n_rows).reshape(1)
    means = torch.cat([tensors[reading.name].detach().reshape(-1) for reading in READINGS])
    counts = [tensors[reading.count].reshape(-1) if reading.count else rows for reading in READINGS]
    return means, torch.cat(counts)


def squared_columns(names: Mapping[Axis, Sequence[str]]) -> set[str]:
    """The columns that are roots of means of squares."""
    return {column for reading in READINGS if reading.squared for column in reading.columns(names)}


def first_cause(columns: Sequence[str]) -> tuple[str, str]:
    """What went wrong first where these columns are not finite, in words, and whose it is, if anyone's."""
    kinds = [column.partition("/")[0] for column in columns]
    kind = next((cause for cause in _CAUSES if cause in kinds), kinds[0])
    owner = columns[kinds.index(kind)].partition("/")[2]
    reading = next(reading for reading in READINGS if reading.name == kind)
    return reading.what.format(owner), owner
