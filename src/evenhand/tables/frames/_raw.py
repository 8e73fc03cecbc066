"""A table as one array, in the units of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RawTable:
    """The cells of a table in the order of its schema.

    Attributes:
        values: ``[N, D]`` in double precision. Numbers are in their own units, dates in days since 1970-01-01, and
            categories are codes, the positions in ``column.categories``. 0 where a cell is missing.
        observed: Which cells are not missing, ``[N, D]``.
    """

    values: NDArray[np.float64]
    observed: NDArray[np.bool_]

    def __post_init__(self) -> None:
        values, observed = np.asarray(self.values, dtype=np.float64), np.asarray(self.observed)
        if values.ndim != 2:
            raise ValueError(f"values should have two axes. Found shape {list(values.shape)}.")
        if observed.shape != values.shape or observed.dtype != bool:
            raise ValueError(
                f"observed should be boolean with the shape {list(values.shape)} of values. "
                f"Found {observed.dtype} of shape {list(observed.shape)}."
            )
        values = np.where(observed, values, 0.0)
        if not np.isfinite(values).all():
            raise ValueError("values should be finite where they are observed. Found NaN or infinity.")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "observed", observed)

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, index: Any) -> RawTable:
        """Some of the rows: a slice, indices or a boolean mask."""
        return RawTable(self.values[index], self.observed[index])
