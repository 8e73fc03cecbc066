"""Weights of columns in words: "gradient", or kinds of columns with a weight."""

from __future__ import annotations

import math

from ...common import ArgumentError
from ...tables.schema import Kind, Schema

GRADIENT, NOMINAL = "gradient", "nominal"


def check_column_weights(name: str, word: str) -> None:
    """Refuse what is neither "gradient" nor a kind of columns with a weight, such as "nominal:4"."""
    kind, _, weight = word.partition(":")
    known = kind in (NOMINAL, *(str(kind) for kind in Kind))
    if word != GRADIENT and not (known and _is_positive(weight)):
        raise ArgumentError(
            name, "be 'gradient', or a kind of columns with its weight such as 'nominal:4'", repr(word)
        )


def weights_by_kind(word: str, schema: Schema) -> tuple[float, ...]:
    """A weight for the columns of a kind, 1 for the others."""
    kind, _, weight = word.partition(":")
    chosen = [column.kind.nominal if kind == NOMINAL else str(column.kind) == kind for column in schema]
    return tuple(float(weight) if this else 1.0 for this in chosen)


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False
