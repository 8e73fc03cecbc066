"""From a table to rows of a family: units, limits, likelihoods, what the encoder sees, and networks that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...common import check_choice
from ..families import Family, Sizes
from ..frames import RawTable
from ..kinds import Batch, Encoding, Parameters, PositiveRule, Preprocessing, TableLikelihood, lipschitz
from ..schema import Schema
from ._rows import Rows

Scaling = Literal["deviation", "lipschitz"]


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a family of models sees a table; the units are those of the training rows of one split, or of several.

    Attributes:
        family: The family.
        preprocessings: The units, for every split.
        limits: Smallest and largest value of every column, ``[2, D]``; 0 for a column without a value.
        within_limits: Whether guesses and draws of numbers never leave the limits.
        parameters: What heads of numbers put out, "natural" parameters as in the paper or "moments".
        encoding: How the encoder sees cells.
        see_mask: Whether the encoder also sees which cells are observed.
    """

    family: type[Family]
    preprocessings: Sequence[Preprocessing]
    limits: Tensor
    within_limits: bool = True
    parameters: Parameters = "moments"
    encoding: Encoding = "one-hot"
    see_mask: bool = True

    @classmethod
    def fit(
        cls,
        family: type[Family],
        table: RawTable,
        schema: Schema,
        train: Sequence[NDArray[np.intp]],
        seeds: Sequence[int],
        *,
        positive: PositiveRule = "centred",
        encoding: Encoding = "one-hot",
        within_limits: bool = True,
        parameters: Parameters = "moments",
        see_mask: bool = True,
        scaling: Scaling = "deviation",
    ) -> Preparation:
        """Measure training rows. What the family says of its inputs comes before the arguments.

        Args:
            family: The family.
            table: The whole table.
            schema: Its columns.
            train: The training rows of every split.
            seeds: A seed for every split, for random offsets near zero.
            positive: What is learnt of positive numbers.
            encoding: How the encoder sees cells.
            within_limits: Whether guesses of numbers stay within the limits of the table.
            parameters: What heads of numbers put out.
            see_mask: Whether the encoder sees which cells are observed.
            scaling: What numbers are divided by: their "deviation", or by "lipschitz" standardization what makes
                all likelihoods about as smooth.
        """
        check_choice("scaling", scaling, get_args(Scaling))
        rule = family.positive or positive
        units = [
            Preprocessing.fit(table.rows(rows), schema, seed=seed, positive=rule)
            for rows, seed in zip(train, seeds, strict=True)
        ]
        if scaling == "lipschitz":
            units = [lipschitz(unit, table.rows(rows)) for unit, rows in zip(units, train, strict=True)]
        limits = torch.tensor(limits_of(table))
        see = see_mask if family.see_mask is None else family.see_mask
        return cls(family, units, limits, within_limits, parameters, family.encoding or encoding, see)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.preprocessings[0].schema

    def likelihood(self, splits: Sequence[int] = (0,)) -> TableLikelihood:
        """The likelihoods of the columns, for replicas on these splits."""
        limits = self.limits if self.within_limits else None
        units = [self.preprocessings[s] for s in splits]
        return TableLikelihood(self.schema, units, limits=limits, parameters=self.parameters)

    def encode(self, table: RawTable, split: int = 0, *, new: bool = False) -> Batch:
        """A table in the units of a split; see `Preprocessing.encode` for new rows."""
        return self.preprocessings[split].encode(table, new=new)

    def rows(self, batch: Batch, dtype: torch.dtype | None = None) -> Rows:
        """An encoded table as the family sees it."""
        encoding, see_mask = self.encoding, self.see_mask
        return Rows.encode(batch, self.likelihood(), encoding=encoding, see_mask=see_mask, dtype=dtype)

    def base(self, batch: Batch, split: int = 0) -> Tensor:
        """What log-densities of an encoded table lack to be those of the original units, ``[N, D]``."""
        return self.likelihood().base(batch.values, self.preprocessings[split])

    def network(
        self, n_inputs: int, seeds: Sequence[int], splits: Sequence[int] = (0,), sizes: Sizes | None = None
    ) -> Family:
        """Untrained replicas, one for every seed; on one split, or each on its own."""
        return self.family.build(n_inputs, self.likelihood(splits), seeds, sizes or Sizes())


def limits_of(table: RawTable) -> NDArray[np.float64]:
    """Smallest and largest value of every column, ``[2, D]``; 0 for a column without a value."""
    known = np.where(table.observed, table.values, np.nan)
    return np.nan_to_num(np.stack([np.fmin.reduce(known), np.fmax.reduce(known)]))
