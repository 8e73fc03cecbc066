"""Everything that a training needs to resume exactly where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .. import __version__
from ._whole import whole_file

FORMAT = 1
NAME = "checkpoint.pt"


def write_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Replace the checkpoint of a folder; a reader sees the old one or the new one, never a part."""
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / NAME) as partial:
        torch.save({"format": FORMAT, "version": __version__, **state}, partial)


def read_checkpoint(folder: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    """The checkpoint of a folder if there is one, of a training with these settings."""
    path = folder / NAME
    if not path.is_file():
        return None
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
            raise ValueError(
                f"{name} should be {found!r}, as it was when the training in {folder} began. Found {wanted!r}. "
                "Go on with the old settings, or choose another folder."
            )
    return state
