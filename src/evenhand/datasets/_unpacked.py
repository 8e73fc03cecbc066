"""Data sets of many small files, which a user unpacks by hand. Needs neither torch nor numpy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ._fetch import VARIABLE


def unpacked_folder(name: str, parts: Sequence[str], source: str) -> Path:
    """The folder of a data set inside of the one that the variable names.

    Args:
        name: Of the data set and of its folder.
        parts: Files and folders that should be in it.
        source: Where it can be had.
    """
    folder = _folder(name)
    missing = next((part for part in parts if folder is None or not (folder / part).exists()), None)
    if folder is None or missing is not None:
        found = f"that {VARIABLE} is not set" if folder is None else f"no {missing} in {folder}"
        raise FileNotFoundError(
            f"{name} should be in the folder ${VARIABLE}/{name}, with {', '.join(parts)} in it. Found {found}. It is "
            f"not fetched: unpack what {source} has, and move it there."
        )
    return folder


def is_unpacked(name: str, parts: Sequence[str]) -> bool:
    """Whether the folder of a data set is there, with all its parts."""
    folder = _folder(name)
    return folder is not None and all((folder / part).exists() for part in parts)


def _folder(name: str) -> Path | None:
    root = os.environ.get(VARIABLE)
    return Path(root) / name if root else None
