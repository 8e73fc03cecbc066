"""Drawn numbers as the table has them, to the last digit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..families import DirectWay
from ..frames import RawTable
from ..kinds import Batch, TableLikelihood

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exact:
    """The numbers that a direct way draws, in the units of the model and as they stand in the table.

    The way through the units of a model and back costs digits: 25564.67 would come back as 25564.6699, which is
    another number to whoever counts how often it occurs.

    Attributes:
        columns: The numbers' places in the schema, ``[n]``.
        drawn: What is drawn, sorted, ``[n, M]`` in the units of the model.
        values: The same in the units of the data; NaN where several numbers are one to the model.
    """

    columns: NDArray[np.int64]
    drawn: NDArray[np.float32]
    values: Array

    @classmethod
    def of(cls, direct: DirectWay, likelihood: TableLikelihood, batch: Batch, table: RawTable) -> Exact:
        """Look the numbers that a direct way draws up in its training rows."""
        columns = np.array(likelihood.order[: likelihood.n_numbers], dtype=np.int64)
        drawn = np.sort(direct.pieces.members.flatten(1).cpu().numpy(), axis=1)
        values = drawn.astype(np.float64)
        for i, d in enumerate(columns):
            seen = table.observed[:, d]
            encoded, original = batch.values[:, d].numpy()[seen], table.values[seen, d]
            if len(encoded):
                order = np.lexsort((original, encoded))
                encoded, original = encoded[order], original[order]
                first = np.searchsorted(encoded, drawn[i]).clip(max=len(order) - 1)
                final = (np.searchsorted(encoded, drawn[i], side="right") - 1).clip(min=first)
                same = np.isclose(original[first], original[final], rtol=1e-5, atol=0.0)
                values[i] = np.where(same, original[first], np.nan)  # zeros that were raised to others
        return cls(columns, drawn, values)

    def restore(self, drawn: NDArray[np.float32], decoded: Array) -> Array:
        """Numbers that were drawn ``[N, D]``, exact where they are known; else as decoded."""
        exact = decoded.copy()
        for i, d in enumerate(self.columns):
            places = np.searchsorted(self.drawn[i], drawn[:, d]).clip(max=self.drawn.shape[1] - 1)
            known = (self.drawn[i][places] == drawn[:, d]) & ~np.isnan(self.values[i][places])
            exact[known, d] = self.values[i][places[known]]
        return exact
