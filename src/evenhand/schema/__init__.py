"""The kinds of the columns of a table: guessed from the data, explained, and overridable."""

from ._kinds import Kind
from ._schema import Column, Schema

__all__ = ["Column", "Kind", "Schema"]
