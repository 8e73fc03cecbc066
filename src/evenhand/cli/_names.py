"""Names that can be completed and suggested; the catalogues that have them need no torch."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from ..datasets import CATALOGUE, NAMES
from ..impartial import CATALOGUE as METHODS
from ..lab import EXHIBITS

REPRODUCIBLE = tuple(name for name, exhibit in EXHIBITS.items() if exhibit.reproducible)
MODELS = tuple(dict.fromkeys(exhibit.models for exhibit in EXHIBITS.values() if exhibit.models))
KINDS = ("real", "positive", "count", "binary", "categorical", "ordinal")  # of columns; their home needs numpy


def closest(name: str, known: Sequence[str]) -> str:
    """Advice for somebody who mistyped a name; empty if nothing is close."""
    found = difflib.get_close_matches(name.lower(), known, n=1)
    return f"Did you mean {found[0]!r}?" if found else ""


def complete_data(incomplete: str) -> list[str]:
    """Data sets that are tables; shells add files themselves."""
    return _complete(incomplete, NAMES)


def complete_any_data(incomplete: str) -> list[str]:
    """Data sets, those of images too."""
    return _complete(incomplete, CATALOGUE)


def complete_reproducible(incomplete: str) -> list[str]:
    """Tables and figures that `reproduce` knows."""
    return _complete(incomplete, REPRODUCIBLE)


def complete_results(incomplete: str) -> list[str]:
    """Tables and figures that `results` knows."""
    return _complete(incomplete, EXHIBITS)


def complete_methods(incomplete: str) -> list[str]:
    """Methods: the last one of a list with commas, or of a chain."""
    return _complete_last(incomplete, METHODS)


def complete_datasets(incomplete: str) -> list[str]:
    """Data sets: the last one of a list with commas."""
    return _complete_last(incomplete, NAMES)


def complete_models(incomplete: str) -> list[str]:
    """Models: the last one of a list with commas."""
    return _complete_last(incomplete, [model for models in MODELS for model in models])


def _complete(incomplete: str, known: Iterable[str]) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]


def _complete_last(incomplete: str, known: Iterable[str]) -> list[str]:
    start = max(incomplete.rfind(","), incomplete.rfind(">")) + 1
    return [incomplete[:start] + name for name in _complete(incomplete[start:], known)]
