"""The kinds of the columns of a table: guessed from the data, explained, and overridable."""

from ._column import Category
from ._infer import check_whole
from ._kinds import Kind
from ._schema import Column, Schema
from ._toml import toml_value

__all__ = [
    "Category",
    "Column",
    "Kind",
    "Schema",
    "check_whole",
    "toml_value",
]
