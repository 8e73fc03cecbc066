"""Schemas as TOML: the standard library reads it, and writing this much takes a few lines."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from ...common import ArgumentError
from ._column import CHANGEABLE, Column


def to_toml(columns: Iterable[Column], ignored: Mapping[str, str]) -> str:
    """One table per column, then the ignored ones."""
    parts = [_column(column) for column in columns]
    if ignored:
        parts.append("\n".join(["[ignored]", *(f"{_text(n)} = {_text(reason)}" for n, reason in ignored.items())]))
    return "\n\n".join(parts) + "\n"


def from_toml(text: str) -> tuple[tuple[Column, ...], dict[str, str]]:
    """The columns and the ignored ones."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError("text", "be a schema in TOML", f"a mistake: {error}") from error
    _check_keys(document, ("columns", "ignored"), "the schema")
    tables, ignored = document.get("columns", {}), document.get("ignored", {})
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ValueError(f"columns.{name} should be a table with a kind. Found {table!r}.")
        _check_keys(table, CHANGEABLE, f"column {name!r}")
        if "kind" not in table:
            raise ValueError(f"column {name!r} should have a kind. Found none.")
    for name, reason in ignored.items():
        if not isinstance(reason, str):
            raise ValueError(f"ignored.{name} should be a reason in words. Found {reason!r}.")
    return tuple(Column(name, **table) for name, table in tables.items()), ignored


def _column(column: Column) -> str:
    lines = [f"[columns.{_text(column.name)}]", f"kind = {toml_value(str(column.kind))}"]
    if column.categories:
        lines.append(f"categories = {toml_value(column.categories)}")
    lines += [
        f"{key} = {toml_value(value)}"
        for key, value in [("zero_offset", column.zero_offset), ("unit", column.unit), ("reason", column.reason)]
        if value not in (None, "")
    ]
    return "\n".join(lines)


def toml_value(value: Any) -> str:
    """Text, a number, a boolean or a list of them as TOML writes it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, str):
        return _text(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _text(text: str) -> str:
    # JSON and TOML escape alike, but for the one control character that JSON lets pass.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    unknown = [key for key in table if key not in known]
    if unknown:
        raise ValueError(f"{what} should have the keys {', '.join(known)}. Found {unknown[0]!r}.")
