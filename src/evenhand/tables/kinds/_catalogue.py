"""The one place that names all kinds."""

from __future__ import annotations

from ..schema import Column
from ._binary import BinaryColumn
from ._categorical import CategoricalColumn
from ._count import CountColumn
from ._kind import ColumnKind
from ._ordinal import OrdinalColumn
from ._positive import PositiveColumn
from ._real import RealColumn

# Columns of a likelihood stand in this order, numbers first, then by the number of categories; kinds on one line mix.
# Saved models depend on it.
ORDER: tuple[tuple[type[ColumnKind], ...], ...] = (
    (RealColumn,),
    (PositiveColumn,),
    (CountColumn,),
    (BinaryColumn,),
    (CategoricalColumn, OrdinalColumn),
)
KINDS = {kind.kind: kind for line in ORDER for kind in line}
RANK = {kind.kind: rank for rank, line in enumerate(ORDER) for kind in line}


def as_kind(column: Column) -> ColumnKind:
    """A column as its kind has it."""
    return KINDS[column.kind](column)
