"""Dataclasses from dictionaries with the same keys, and back."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Mapping
from types import MappingProxyType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ...common import check_choice

# of a field that was added later and that most configs do not have: files and hashes of these stay as they were
WRITTEN_IF_SET = MappingProxyType({"written_if_set": True})


def build(cls: type[Any], document: Mapping[str, Any], where: str) -> Any:
    """A dataclass from a dictionary with the same keys."""
    hints = get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls)]
    for key in document:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            advice = f" Did you mean {where}{close[0]}?" if close else ""
            raise ValueError(
                f"{where.rstrip('.') or 'The config'} should have the keys {', '.join(known)}. Found {key!r}.{advice}"
            )
    for f in dataclasses.fields(cls):
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if required and f.name not in document:
            raise ValueError(f"The config should have a section [{where}{f.name}]. Found none.")
    return cls(**{key: _checked(value, hints[key], f"{where}{key}") for key, value in document.items()})


def _checked(value: Any, hint: Any, name: str) -> Any:
    """A value of the type that the dataclass declares."""
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} should be a section. Found {value!r}.")
        return build(hint, value, f"{name}.")  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name} should be a list. Found {value!r}.")
        return tuple(_checked(v, get_args(hint)[0], f"{name}[{i}]") for i, v in enumerate(value))
    if get_origin(hint) is Literal:
        value = str(value) if type(value) is int else value  # training.precision=32 without quotes
        check_choice(name, value, get_args(hint))
        return value
    if isinstance(hint, UnionType):  # a number or a word
        number = float(value) if type(value) is int else value
        if type(number) not in get_args(hint):
            raise ValueError(
                f"{name} should be of type {' or '.join(t.__name__ for t in get_args(hint))}. Found {value!r}."
            )
        return number
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:  # a bool is no int here
        raise ValueError(f"{name} should be of type {hint.__name__}. Found {value!r}.")
    return value


def to_plain(config: Any) -> dict[str, Any]:
    """A dataclass as nested dictionaries of what JSON can hold; tuples become lists."""
    text = json.dumps(dataclasses.asdict(config), default=lambda number: number.item())  # numbers of numpy
    document: dict[str, Any] = json.loads(text)
    for section in dataclasses.fields(config):
        for f in dataclasses.fields(getattr(config, section.name)):
            if f.metadata.get("written_if_set") and not document[section.name][f.name]:
                del document[section.name][f.name]
    return document
