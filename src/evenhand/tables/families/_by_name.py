"""Families by name, each imported when it is asked for: the shell lists them without torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._family import Family


class ByName(Mapping[str, "type[Family]"]):
    """A mapping from names to families.

    Args:
        package: Where the classes are.
        classes: The class of every name.
    """

    def __init__(self, package: str, classes: Mapping[str, str]) -> None:
        self._package, self._classes = package, classes

    def __getitem__(self, name: str) -> type[Family]:
        found: type[Family] = getattr(import_module(self._package), self._classes[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)
