"""The schema of a table: its columns in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ._column import BY_HAND, IGNORE, Column, changed
from ._kinds import Kind
from ._toml import from_toml, to_toml

__all__ = ["Column", "Schema"]


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order, each with its kind.

    Args:
        columns: The columns.
        ignored: Columns of the frame that are left out, each with the reason.

    Example:
        >>> schema = Schema((Column("age", "count"), Column("sex", "binary", ("f", "m"))))
        >>> schema["sex"].size
        2
        >>> Schema.from_toml(schema.to_toml()) == schema
        True
    """

    columns: tuple[Column, ...]
    ignored: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "ignored", dict(self.ignored))
        for column in self.columns:
            if not isinstance(column, Column):
                raise ValueError(f"columns should hold Columns. Found {type(column).__name__}.")
        twice = [name for i, name in enumerate(self.names) if name in self.names[:i] or name in self.ignored]
        if twice:
            raise ValueError(f"columns should have distinct names, none of them ignored. Found {twice[0]!r} twice.")

    @classmethod
    def infer(
        cls,
        frame: Any,
        overrides: Mapping[str, Kind | str | Column | Mapping[str, Any]] | None = None,
        *,
        unsupported: Literal["error", "ignore"] = "error",
    ) -> Schema:
        """Guess the schema of a table by the rules of ``docs/schema.md``; `explain` says why.

        Args:
            frame: A pandas or polars DataFrame, a pyarrow Table, or a two-dimensional numpy array, whose columns are
                then called x0, x1, and so on. Names that are not strings are taken as ``str(name)``.
            overrides: What is known better: by name a kind, a whole Column, a dictionary of fields, or ``"ignore"``.
            unsupported: Whether constant and empty columns, ids and free text are an error or are ignored. What is
                broken (infinite values, mixed types) is an error, unless its override is ``"ignore"``.
        """
        from ._infer import infer  # which needs this class

        return infer(frame, overrides, unsupported=unsupported)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{name!r} should be one of the columns {', '.join(self.names)}.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the columns, in order."""
        return tuple(column.kind for column in self.columns)

    def update(self, changes: Mapping[str, Kind | str | Column | Mapping[str, Any]]) -> Schema:
        """A schema with some columns changed.

        Args:
            changes: By name a kind, a whole Column, a dictionary of fields such as
                ``{"kind": "positive", "zero_offset": 0.5}``, or ``"ignore"``.
        """
        for name in changes:
            if name not in self:
                raise ValueError(
                    f"changes should name columns of the schema ({', '.join(self.names)}). Found {name!r}."
                )
        left_out = {name: BY_HAND for name, change in changes.items() if change == IGNORE}
        kept = [column for column in self.columns if column.name not in left_out]
        columns = [changed(c, changes[c.name]) if c.name in changes else c for c in kept]
        return replace(self, columns=tuple(columns), ignored={**self.ignored, **left_out})

    def to_toml(self) -> str:
        """The schema as TOML text."""
        return to_toml(self.columns, self.ignored)

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """The schema that `to_toml` wrote."""
        return cls(*from_toml(text))

    def save(self, path: str | Path) -> None:
        """Write the schema to a TOML file."""
        Path(path).write_text(self.to_toml(), encoding="utf-8", newline="\n")

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read the schema from a TOML file."""
        return cls.from_toml(Path(path).read_text(encoding="utf-8"))

    def explain(self) -> str:
        """A text table: the name of every column, its kind, and why."""
        rows = [("column", "kind", "why")]
        rows += [(c.name, str(c.kind), c.reason) for c in self.columns]
        rows += [(name, "ignored", reason) for name, reason in self.ignored.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)
