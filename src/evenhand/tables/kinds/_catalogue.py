"""The one place that names all kinds."""

from __future__ import annotations

from ..schema import Column, Kind
from ._binary import BinaryColumn
from ._categorical import CategoricalColumn
from ._count import CountColumn
from ._kind import ColumnKind
from ._ordinal import OrdinalColumn
from ._positive import PositiveColumn
from ._real import RealColumn

KINDS: dict[Kind, type[ColumnKind]] = {
    Kind.REAL: RealColumn,
    Kind.POSITIVE: PositiveColumn,
    Kind.COUNT: CountColumn,
    Kind.BINARY: BinaryColumn,
    Kind.CATEGORICAL: CategoricalColumn,
    Kind.ORDINAL: OrdinalColumn,
}
# Columns of a likelihood stand in this order, numbers first; those of one line mix. Saved models depend on it.
ORDER = ((Kind.REAL,), (Kind.POSITIVE,), (Kind.COUNT,), (Kind.BINARY,), (Kind.CATEGORICAL, Kind.ORDINAL))
RANK = {kind: rank for rank, line in enumerate(ORDER) for kind in line}


def as_kind(column: Column) -> ColumnKind:
    """A column as its kind has it."""
    return KINDS[column.kind](column)
