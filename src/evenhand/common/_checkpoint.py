"""Everything that a training needs to resume exactly where it was."""

from __future__ import annotations

import hashlib
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch

from .. import __version__
from ._whole import whole_file

FORMAT = 1
NAME = "checkpoint.pt"
MARK = b"evenhand-sha256:"  # at the end of the file, before the checksum of all that stands before it
DIGITS = 64
MANY = 100  # characters of a setting, of which an error shows the place that differs


def write_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Replace the checkpoint of a folder; a reader sees the old one or the new one, never a part."""
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / NAME) as partial:
        torch.save({"format": FORMAT, "version": __version__, **state}, partial)
        checksum = _checksum(partial, partial.stat().st_size)
        with partial.open("ab") as file:  # torch finds its archive in front of anything
            file.write(MARK + checksum)


def read_checkpoint(folder: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    """The checkpoint of a folder if there is one, of a training with these settings."""
    path = folder / NAME
    if not path.is_file():
        return None
    _check_bytes(path)
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)  # data, never code
    except Exception as error:
        raise ValueError(f"{path} should be a checkpoint of a training. It cannot be read: {error}") from error
    if not isinstance(state, dict) or "format" not in state:
        raise ValueError(f"{path} should be a checkpoint of format {FORMAT}. Found something else.")
    if state["format"] != FORMAT:
        raise ValueError(
            f"{path} should be a checkpoint of format {FORMAT}. Found format {state['format']}, of evenhand "
            f"{state.get('version', 'in another version')}. Resume with that version, or choose another folder."
        )
    for name, wanted in settings.items():
        found = state["settings"].get(name)
        if found != wanted:
            was, now = _where_they_differ(found, wanted)
            raise ValueError(
                f"{name} should be {was}, as it was when the training in {folder} began. Found {now}. "
                "Go on with the old settings, or choose another folder."
            )
    return state


def _check_bytes(path: Path) -> None:
    """Refuse a checkpoint whose bytes are not those that were written; those of 0.1.0 have no checksum."""
    end = path.stat().st_size - len(MARK) - DIGITS
    with path.open("rb") as file:
        file.seek(max(0, end))
        mark, checksum = file.read(len(MARK)), file.read(DIGITS)
    if mark == MARK and checksum != _checksum(path, end):
        raise ValueError(
            f"{path} should be a checkpoint of a training. It is damaged: its bytes are not those that were written "
            "(the checksum differs). Delete it to begin anew, or choose another folder."
        )


def _checksum(path: Path, end: int) -> bytes:
    """Of the first bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while (left := end - file.tell()) > 0 and (part := file.read(min(left, 1 << 20))):
            digest.update(part)
    return digest.hexdigest().encode()


def _where_they_differ(found: object, wanted: object) -> tuple[str, str]:
    """Two settings in words: whole, or of long texts the parts, between semicolons, that differ first."""
    if not (isinstance(found, str) and isinstance(wanted, str) and max(len(found), len(wanted)) > MANY):
        return repr(found), repr(wanted)
    parts = zip_longest(found.split("; "), wanted.split("; "), fillvalue="nothing more")
    was, now = next(pair for pair in parts if pair[0] != pair[1])
    return repr(was), repr(now)
