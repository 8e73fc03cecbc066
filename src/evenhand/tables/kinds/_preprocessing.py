"""What a model sees of a table, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..frames import RawTable
from ..schema import Schema
from ._batch import Batch
from ._catalogue import as_kind
from ._kind import Array, ColumnKind, PositiveRule, Units

NUMBERS = Units._fields  # their names are those of saved models


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
        offset, generator = float(positive == "log1p"), np.random.default_rng(seed)
        fitted = []
        for d, column in enumerate(schema):
            kind, seen = as_kind(column), table.observed[:, d]
            admitted = kind.admit(table.values[:, d], seen, offset, generator)
            fitted.append(kind.fit(admitted[seen], positive))
        centre, scale, shift, offsets = torch.tensor(fitted, dtype=torch.float64).reshape(-1, 4).T.contiguous()
        return cls(schema, centre, scale, shift, offsets, seed)

    def encode(self, table: RawTable, *, new: bool = False) -> Batch:
        """The table as a model sees it.

        The random offsets of ``zero_offset="published"`` depend on the seed and on the position of a cell, so encode
        a table once and take rows of the batch.

        Args:
            table: The rows.
            new: Whether nothing is learnt from them: offsets are usual then, so that no answer depends on a place.
        """
        _check_width(table.values, self.schema)
        values, generator = np.empty_like(table.values), None if new else np.random.default_rng(self.seed)
        for d, (kind, units) in enumerate(self._columns()):
            seen = table.observed[:, d]
            values[:, d] = kind.encode(kind.admit(table.values[:, d], seen, units.offset, generator), seen, units)
        mask = torch.from_numpy(table.observed.copy())
        return Batch(torch.from_numpy(values).to(torch.float32).masked_fill(~mask, 0.0), mask)

    def decode(self, values: Tensor | NDArray[Any]) -> Array:
        """Values of a model, ``[..., N, D]``, in the units of the data: the inverse of `encode`."""
        if isinstance(values, Tensor):
            values = values.detach().cpu().numpy()
        _check_width(values, self.schema)
        decoded: Array = np.array(values, dtype=np.float64)
        for d, (kind, units) in enumerate(self._columns()):
            decoded[..., d] = kind.decode(decoded[..., d], units)
        return decoded

    def log_volume(self, values: Tensor) -> Tensor:
        """What to add to log-densities of encoded values ``[N, D]`` to get those in the units of the data."""
        volume = -self.scale.log().to(values).expand_as(values).clone()
        for d, (kind, units) in enumerate(self._columns()):
            volume[:, d] -= kind.log_stretch(values[:, d], units)
        return volume

    def units(self, columns: Sequence[int]) -> Tensor:
        """Centre, scale, shift and offset of some columns, ``[4, n]``."""
        return torch.stack([getattr(self, name)[list(columns)] for name in NUMBERS])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        numbers = {name: getattr(self, name).tolist() for name in NUMBERS}
        return {"schema": self.schema.to_toml(), **numbers, "seed": self.seed}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Preprocessing:
        """The preprocessing that `to_dict` wrote."""
        centre, scale, shift, offset = (torch.tensor(state[n], dtype=torch.float64) for n in NUMBERS)
        return cls(Schema.from_toml(state["schema"]), centre, scale, shift, offset, int(state["seed"]))

    def _columns(self) -> list[tuple[ColumnKind, Units]]:
        numbers = zip(*(getattr(self, name).tolist() for name in NUMBERS), strict=True)
        return [(as_kind(column), Units(*units)) for column, units in zip(self.schema, numbers, strict=True)]


def _check_width(values: NDArray[Any], schema: Schema) -> None:
    if values.ndim < 2 or values.shape[-1] != len(schema):
        raise ValueError(f"values should have the {len(schema)} columns of the schema. Found {list(values.shape)}.")
