"""What a model sees of a table, and the way back."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..frames import RawTable
from ..schema import Column, Kind, Schema
from ._batch import Batch

Array = NDArray[np.float64]
SMALLEST = 1e-20  # appendix E.1: what the paper adds to zeros
LARGEST_LOG = 700.0  # exp of more is infinite
PositiveRule = Literal["log", "centred", "log1p"]
NUMBERS = ("centre", "scale", "shift", "offset")


@dataclass(frozen=True, eq=False)
class Preprocessing:
    r"""The scaling of every column, fitted on training rows (appendix E.1 of the paper).

    ==============  =========================================================================
    real            :math:`(x - \text{centre}) / \text{scale}`: mean 0, standard deviation 1
    positive        :math:`\log(x) / \text{scale}`: standard deviation 1, not centred
    count           :math:`x - \text{shift}`, with shift 1 if all training counts are 1 or more
    nominal         the code, 0 to C - 1
    ==============  =========================================================================

    Attributes:
        schema: The columns.
        centre: What is subtracted from real columns, ``[D]`` in double precision; 0 elsewhere.
        scale: What real columns and logarithms of positive ones are divided by, ``[D]``; 1 elsewhere.
        shift: What is subtracted from counts, ``[D]``; 0 elsewhere.
        offset: What is added to positive columns before the logarithm, ``[D]``: 0, or 1 for HI-VAE.
        seed: For the random offsets of columns with ``zero_offset="published"``.
    """

    schema: Schema
    centre: Tensor
    scale: Tensor
    shift: Tensor
    offset: Tensor
    seed: int = 0

    @classmethod
    def fit(cls, table: RawTable, schema: Schema, *, seed: int = 0, positive: PositiveRule = "log") -> Preprocessing:
        """Measure the observed cells of training rows.

        Args:
            table: The training rows.
            schema: The columns.
            seed: For the random offsets of columns with ``zero_offset="published"``.
            positive: "log" divides log x by its deviation, as the paper's VAE has it; "centred" also subtracts its
                mean; "log1p" centres too, and takes log(1 + x), as HI-VAE has it.
        """
        _check_width(table.values, schema)
        if positive not in get_args(PositiveRule):
            raise ValueError(f"positive should be one of {', '.join(get_args(PositiveRule))}. Found {positive!r}.")
        offset = float(positive == "log1p")
        raised = _not_negative(table, schema) if offset else _raise_zeros(table, schema, seed)
        fitted = [_fit(c, raised[table.observed[:, d], d], offset, positive) for d, c in enumerate(schema)]
        centre, scale, shift, offsets = torch.tensor(fitted, dtype=torch.float64).reshape(-1, 4).T.contiguous()
        return cls(schema, centre, scale, shift, offsets, seed)

    def encode(self, table: RawTable) -> Batch:
        """The table as a model sees it.

        The random offsets of ``zero_offset="published"`` depend on the seed and on the position of a cell, so encode
        a table once and take rows of the batch.
        """
        _check_width(table.values, self.schema)
        positive = self._of_kind(Kind.POSITIVE)
        if self.offset[positive].any():
            values = _not_negative(table, self.schema)
        else:
            values = _raise_zeros(table, self.schema, self.seed)
        known = np.where(table.observed, values, 1.0)[:, positive]
        values[:, positive] = np.log(known + self.offset[positive].numpy())
        values = (values - self.centre.numpy() - self.shift.numpy()) / self.scale.numpy()
        values = self._counts_from_zero(values, table)
        mask = torch.from_numpy(table.observed.copy())
        return Batch(torch.from_numpy(values).to(torch.float32).masked_fill(~mask, 0.0), mask)

    def decode(self, values: Tensor | NDArray[Any]) -> Array:
        """Values of a model, ``[..., N, D]``, in the units of the data: the inverse of `encode`."""
        if isinstance(values, Tensor):
            values = values.detach().cpu().numpy()
        _check_width(values, self.schema)
        decoded: Array = np.array(values, dtype=np.float64) * self.scale.numpy()
        decoded += self.centre.numpy() + self.shift.numpy()
        for d in self._of_kind(Kind.POSITIVE):
            if self.offset[d]:
                decoded[..., d] = np.expm1(np.clip(decoded[..., d], 0.0, LARGEST_LOG))
            else:
                decoded[..., d] = _from_logarithm(decoded[..., d], self.schema.columns[d].zero_offset)
        return decoded

    def log_volume(self, values: Tensor) -> Tensor:
        """What to add to log-densities of encoded values ``[N, D]`` to get those in the units of the data."""
        volume = -self.scale.log().to(values).expand_as(values).clone()
        for d in self._of_kind(Kind.POSITIVE):
            volume[:, d] -= float(self.centre[d]) + float(self.scale[d]) * values[:, d]
        return volume

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        numbers = {name: getattr(self, name).tolist() for name in NUMBERS}
        return {"schema": self.schema.to_toml(), **numbers, "seed": self.seed}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Preprocessing:
        """The preprocessing that `to_dict` wrote."""
        centre, scale, shift, offset = (torch.tensor(state[n], dtype=torch.float64) for n in NUMBERS)
        return cls(Schema.from_toml(state["schema"]), centre, scale, shift, offset, int(state["seed"]))

    def _of_kind(self, kind: Kind) -> list[int]:
        return [d for d, column in enumerate(self.schema) if column.kind == kind]

    def _counts_from_zero(self, values: Array, table: RawTable) -> Array:
        """A count below all of training would be negative: it is taken for the smallest one, and the user told."""
        for d in self._of_kind(Kind.COUNT):
            low = (values[:, d] < 0) & table.observed[:, d]
            if low.any():
                warnings.warn(
                    f"column {self.schema.columns[d].name!r} has {low.sum()} counts of 0, and none in training: "
                    "they are taken for 1.",
                    stacklevel=3,
                )
                values[low, d] = 0.0
        return values


def _fit(column: Column, seen: Array, offset: float, positive: PositiveRule) -> tuple[float, float, float, float]:
    """Centre, scale, shift and offset of one column."""
    if not seen.size:
        return 0.0, 1.0, 0.0, offset * (column.kind == Kind.POSITIVE)
    if column.kind == Kind.REAL:
        return float(seen.mean()), _deviation(seen), 0.0, 0.0
    if column.kind == Kind.POSITIVE:
        logarithms = np.log(seen + offset)
        centre = 0.0 if positive == "log" else float(logarithms.mean())
        return centre, _deviation(logarithms), 0.0, offset
    return 0.0, 1.0, float(column.kind == Kind.COUNT and seen.min() >= 1), 0.0


def _deviation(values: Array) -> float:
    """The standard deviation, or 1 for a column that is constant in training."""
    deviation = float(values.std())
    # Rounding makes the deviation of equal numbers differ from zero.
    return deviation if deviation > 1e-12 * float(np.abs(values).max()) else 1.0


def _raise_zeros(table: RawTable, schema: Schema, seed: int) -> Array:
    """The values, with those of positive columns raised above zero."""
    values, generator = table.values.copy(), np.random.default_rng(seed)
    for d, column in enumerate(schema):
        if column.kind == Kind.POSITIVE:
            floor = _floor(column, len(table), generator)
            values[:, d] = np.maximum(values[:, d], floor)
            low = values[table.observed[:, d], d] <= 0
            if low.any():
                found = table.values[table.observed[:, d], d][low][0]
                raise ValueError(
                    f"column {column.name!r} should hold positive numbers only. Found {found:g}; give it a "
                    "zero_offset in the schema or make it real."
                )
    return values


def _not_negative(table: RawTable, schema: Schema) -> Array:
    """A copy of the values, with positive columns checked for log(1 + x)."""
    for d, column in enumerate(schema):
        if column.kind == Kind.POSITIVE and (table.values[:, d] < 0).any():
            raise ValueError(
                f"column {column.name!r} should hold no numbers below zero. Found {table.values[:, d].min():g}; make "
                "it real in the schema."
            )
    return table.values.copy()


def _floor(column: Column, n: int, generator: np.random.Generator) -> Array:
    if column.zero_offset is None:
        return np.full(n, -np.inf)
    if column.zero_offset == "published":
        return SMALLEST + generator.beta(0.2, 60.0, size=n)
    return np.full(n, float(column.zero_offset))


def _from_logarithm(logarithm: Array, zero_offset: float | str | None) -> Array:
    values: Array = np.exp(np.minimum(logarithm, LARGEST_LOG))
    if isinstance(zero_offset, str) or zero_offset is None:
        return values
    threshold = math.log(zero_offset)
    # The logarithm went through single precision.
    return np.where(logarithm <= threshold + 1e-6 * max(1.0, abs(threshold)), 0.0, values)


def _check_width(values: NDArray[Any], schema: Schema) -> None:
    if values.ndim < 2 or values.shape[-1] != len(schema):
        raise ValueError(f"values should have the {len(schema)} columns of the schema. Found {list(values.shape)}.")
