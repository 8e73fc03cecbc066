"""A whole table as one modality."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from ...tables.frames import RawTable, build, forms_of, read
from ...tables.kinds import Density, Preprocessing, TableLikelihood, encoder_inputs
from ...tables.schema import Schema
from ._likelihood import Likelihood, Shape, full_precision, smallest_wrong


class Table(Likelihood):
    r"""A whole table as one modality: columns of all kinds, with holes.

    .. math:: \log p(x | \eta) = \sum_{d \text{ observed}} \log p(x_d | \eta_d)

    Items are rows as `read` makes them: numbers standardised (positive ones through their logarithm), counts,
    codes of categories, and NaN where a cell is missing. Densities, guesses and draws are in these units too, so
    that a draw can be encoded again; `frame` turns them into a table. Numbers never leave the range of the frame.
    Encoders see numbers, log(1 + count), ones for categories, zeros for missing cells, and which cells are there.

    Args:
        frame: A pandas or polars DataFrame, a pyarrow Table or an array. Units, categories and the form of what
            `frame` gives are learnt from it: give training rows.
        schema: The kinds of the columns; a mapping of names to kinds overrides what is inferred.

    Example:
        >>> import pandas as pd
        >>> patients = pd.DataFrame({"age": [54.5, 61.25, None, 47.0], "sex": ["f", "m", "m", "f"]})
        >>> table = Table(patients, {"age": "real"})
        >>> table
        Table(2 columns: 1 real, 1 binary)
        >>> x = table.read(patients)
        >>> parameters = torch.zeros(4, *table.parameter_shape(table.shape))
        >>> table.log_prob(parameters, x).shape
        torch.Size([4])
        >>> table.frame(table.guess(parameters)).columns.tolist()
        ['age', 'sex']
    """

    has_holes = True
    mean_is_an_item = False  # it has probabilities in place of categories
    low: Tensor  # [numbers], in the likelihood's inner order
    high: Tensor

    def __init__(self, frame: Any, schema: Schema | Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.schema = schema if isinstance(schema, Schema) else Schema.infer(frame, dict(schema or {}))
        table = read(frame, self.schema)
        self._check_columns(table)
        self._template, self._forms = frame[:0], forms_of(frame, self.schema)
        self.preprocessing = Preprocessing.fit(table, self.schema, positive="centred")
        self.likelihood = TableLikelihood(self.schema, [self.preprocessing], parameters="moments")
        self._keep_limits(table)
        self._n_inputs = self.inputs(torch.zeros(1, len(self.schema))).shape[-1]

    def _check_columns(self, table: RawTable) -> None:
        if not len(self.schema):
            raise ValueError(f"frame should have a column to learn from. All are ignored: {self.schema.ignored}.")
        empty = [column.name for d, column in enumerate(self.schema) if not table.observed[:, d].any()]
        if empty:
            raise ValueError(
                f"frame should have values in all columns of the schema. Found none in {', '.join(empty)}."
            )

    def _keep_limits(self, table: RawTable) -> None:
        batch = self.preprocessing.encode(table)
        numbers = self.likelihood.order[: self.likelihood.n_numbers]
        values, mask = batch.values[:, numbers].double(), batch.mask[:, numbers]
        for name, bound in (("low", torch.inf), ("high", -torch.inf)):
            known = values.masked_fill(~mask, bound)
            self.register_buffer(name, known.amin(0) if name == "low" else known.amax(0), persistent=False)

    @property
    def shape(self) -> Shape:
        """The shape of a row: one number for every column."""
        return (len(self.schema),)

    @property
    def known_shape(self) -> Shape:
        """The shape of a row."""
        return self.shape

    def fingerprint(self) -> str:
        """Of the columns and units, which are not among the weights."""
        about = [self.schema.to_toml(), self.preprocessing.to_dict()]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def read(self, frame: Any, *, unseen: Literal["error", "missing"] = "error") -> Tensor:
        """The rows of a frame, ``[N, D]``; NaN where a cell is missing.

        Args:
            frame: With the columns of the first one, in any order.
            unseen: Whether a category that was not there at first is an error, or is taken as missing with a
                warning.
        """
        batch = self.preprocessing.encode(read(frame, self.schema, unseen=unseen))
        return batch.values.to(torch.get_default_dtype()).masked_fill(~batch.mask, torch.nan)

    def frame(self, values: Tensor) -> Any:
        """A frame of the kind, columns and types of the first one, from guesses or draws ``[N, D]``."""
        return build(self.schema, self.preprocessing.decode(values), self._template, self._forms)

    def as_data(self, values: Tensor) -> Any:
        """A frame, or a list of them for several versions of the rows ``[n, N, D]``."""
        return self.frame(values) if values.ndim == 2 else [self.frame(version) for version in values]

    def prepare(self, x: Tensor) -> Tensor:
        """The rows as they are."""
        return x

    def inputs(self, x: Tensor) -> Tensor:
        """What an encoder sees: ``[B, inputs + D]``, the last D of them 1 where a cell is observed."""
        values, mask = _split(x)
        encoded, owners = encoder_inputs(values, self.likelihood, "one-hot")
        mask = mask[:, self.likelihood.order].to(values.dtype)
        return torch.cat([encoded * mask[:, owners], mask], -1)

    def input_shape(self, shape: Shape) -> Shape:
        """The inputs of all columns, and one more for each."""
        self._check_shape(shape)
        return (self._n_inputs,)

    def parameter_shape(self, shape: Shape) -> Shape:
        """The parameters of all columns, in one axis."""
        self._check_shape(shape)
        return (self.likelihood.n_parameters,)

    def item_shape(self, parameter_shape: Shape) -> Shape:
        """The inverse of `parameter_shape`."""
        expected = [self.likelihood.n_parameters]
        if list(parameter_shape) != expected:
            raise ValueError(
                f"parameter_shape should be {expected} for these columns. Found {list(parameter_shape)}."
            )
        return self.shape

    def log_prob(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Log-densities of the observed cells of every row, ``[..., B]``, in the units of `read`."""
        parameters, x = self._aligned(parameters, x)
        values, mask = _split(x.to(parameters.dtype))
        log_p = self.likelihood.log_prob(parameters, self.likelihood.targets(values))
        log_p = log_p - self.likelihood.left_out(values)
        return torch.where(mask[:, self.likelihood.order], log_p, 0.0).sum(-1)

    def mean(self, parameters: Tensor) -> Tensor:
        """Expected numbers and the probabilities of categories (of the second one if there are two), side by side.

        The columns stand in the order of the schema.
        """
        columns: list[Tensor] = []
        for density, eta in self._densities(parameters):
            columns += density.expectation(eta).split(density.n_targets // density.n, -1)
        return torch.cat([columns[i] for i in self.likelihood.inverse.tolist()], -1)

    def guess(self, parameters: Tensor) -> Tensor:
        """The most probable value of every cell, ``[..., B, D]``; the median of positive numbers."""
        return self._in_order([density.guess(eta) for density, eta in self._densities(parameters)])

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every cell, ``[..., B, D]``."""
        return self._in_order([density.sample(eta, generator) for density, eta in self._densities(parameters)])

    def dimension(self, shape: Shape) -> int:
        """The number of columns."""
        self._check_shape(shape)
        return len(self.schema)

    def check(self, x: Tensor) -> None:
        """All should be rows as `read` makes them."""
        if x.ndim != 2 or x.shape[-1] != len(self.schema) or not x.is_floating_point():
            raise ValueError(
                f"values should be rows of {len(self.schema)} numbers, as read() makes them of a frame. Found "
                f"{x.dtype} of shape {list(x.shape)}."
            )
        for d, column in enumerate(self.schema):
            seen = x[~x[:, d].isnan(), d]
            high = column.size - 1 if column.kind.nominal else torch.inf
            wrong = smallest_wrong(seen, 0, high, whole=True) if column.kind.whole else None
            if wrong is not None:
                wanted = f"0 to {high}" if column.kind.nominal else "0 on"
                raise ValueError(
                    f"values should be as read() makes them of a frame: whole numbers from {wanted} in column "
                    f"{column.name!r}. Found {wrong:g}."
                )

    def _check_shape(self, shape: Shape) -> None:
        if tuple(shape) != self.shape:
            raise ValueError(f"shape should be {list(self.shape)}, one number for every column. Found {list(shape)}.")

    def _densities(self, parameters: Tensor) -> Iterable[tuple[Density, Tensor]]:
        """Every density of columns with its natural parameters."""
        return self.likelihood.by_density(self.likelihood.constrain(full_precision(parameters)))

    def _in_order(self, parts: list[Tensor]) -> Tensor:
        """Columns from inner order to that of the schema, numbers within the range of the first frame."""
        values, n = torch.cat(parts, -1), self.likelihood.n_numbers
        numbers, rest = values.split([n, values.shape[-1] - n], -1)
        numbers = numbers.clamp(self.low.to(values.dtype), self.high.to(values.dtype))
        return torch.cat([numbers, rest], -1)[..., self.likelihood.inverse]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(self.schema.kinds).items())
        return f"Table({len(self.schema)} columns: {kinds})"


def _split(x: Tensor) -> tuple[Tensor, Tensor]:
    """Values, 0 where a cell is missing, and which are observed."""
    mask = ~x.isnan()
    return torch.where(mask, x, 0.0), mask
