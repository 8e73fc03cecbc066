"""What a model asks a column, whatever its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..schema import Column, Kind

if TYPE_CHECKING:
    from ._group import Group

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Encoding = Literal["one-hot", "codes", "hivae"]
PositiveRule = Literal["log", "centred", "log1p"]


class Units(NamedTuple):
    """What the cells of a column are centred, scaled and shifted by; `Preprocessing` says how."""

    centre: float = 0.0
    scale: float = 1.0
    shift: float = 0.0
    offset: float = 0.0


class ColumnKind(ABC):
    """One column, as its kind has it: its units, what an encoder sees of it, how many outputs HI-VAE gives it.

    Densities, guesses and draws are computed for many columns at once, by a `Group`.

    Args:
        column: The column.
    """

    kind: ClassVar[Kind]
    group: ClassVar[type[Group]]  # of columns of this kind, and perhaps of others of the same density

    def __init__(self, column: Column) -> None:
        self.column = column

    def fit(self, seen: Array, rule: PositiveRule) -> Units:
        """The units, from the observed cells of training rows, of which there may be none.

        Args:
            seen: The cells, as `admit` lets them pass.
            rule: What is learnt of positive numbers.
        """
        return Units()

    def admit(self, values: Array, observed: Mask, offset: float, generator: np.random.Generator | None) -> Array:
        """Cells that can be encoded: refuse others, or make them fit.

        Args:
            values: All cells of the column.
            observed: Which of them are there.
            offset: What is added to positive numbers before the logarithm.
            generator: For rules that draw.
        """
        return values

    def encode(self, values: Array, observed: Mask, units: Units) -> Array:
        """Cells in the units of a model; missing ones have no meaning."""
        return (values - units.centre - units.shift) / units.scale

    def decode(self, values: Array, units: Units) -> Array:
        """Cells in the units of the data: the inverse of `encode`."""
        return values * units.scale + (units.centre + units.shift)

    def log_stretch(self, values: Tensor, units: Units) -> Tensor | float:
        """Logarithm of how much more than its scale the way back stretches a column, at encoded cells."""
        return 0.0

    @abstractmethod
    def inputs(self, x: Tensor, encoding: Encoding) -> Tensor:
        """What an encoder sees of encoded cells ``[N]``: ``[N, inputs]``."""

    @property
    def n_locations(self) -> int:
        """How many numbers HI-VAE computes from [y, s] for this column."""
        return 1

    @property
    def n_scales(self) -> int:
        """How many it computes from s alone."""
        return 0
