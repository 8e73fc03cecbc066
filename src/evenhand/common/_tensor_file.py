"""Files of tensors with a description in JSON: safetensors, written whole, and nothing in them is code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import __version__
from ._whole import whole_file

KEY = "evenhand"  # of the description in the file's metadata
CHECKSUM = "sha256"  # in the description: of the rest of it and of all tensors; files of 0.1.0 have none


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors, their description and a checksum; an existing file is replaced only by a whole one."""
    from safetensors.torch import save_file

    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"path should be in a folder that exists. Found none at {path.parent}. Make it first."
        )
    # copies, because modules may share weights, which the format does not allow
    plain = {name: x.detach().cpu().contiguous().clone() for name, x in tensors.items()}
    # one entry, because the format does not keep the order of several, and equal models should be equal files
    told = {**about, CHECKSUM: _checksum(json.dumps(about), plain)}
    with whole_file(path) as partial:
        save_file(plain, partial, metadata={KEY: json.dumps(told)})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], Any]:
    """The tensors and the description that `write_tensors` wrote.

    Returns:
        The tensors, and the description; None if the file has none, because something else wrote it.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is damaged, or its numbers are not those that were written.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"path should be a file that save() wrote. Found nothing at {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(KEY, "null"))
            # copies, because numbers at odd places in memory are added in another order
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} should be a whole file that save() wrote. It is damaged: {error}") from error
    known = about.pop(CHECKSUM, None) if isinstance(about, dict) else None
    if known is not None and known != _checksum(json.dumps(about), tensors):
        raise ValueError(
            f"{path} should be a whole file that save() wrote. It is damaged: its numbers are not those that were "
            "written (the checksum differs). Take another copy, or save it again."
        )
    return tensors, about


def _checksum(text: str, tensors: Mapping[str, Tensor]) -> str:
    """Of a description and of the names, types, shapes and bytes of tensors."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        x = tensors[name]
        digest.update(f"{name} {x.dtype} {list(x.shape)}".encode())
        if x.numel():
            content: Any = x.contiguous().reshape(-1).view(torch.uint8).numpy()
            digest.update(content)
    return digest.hexdigest()


def check_format(path: Path, about: Mapping[str, Any], newest: int) -> None:
    """Refuse a file of a format that only newer versions know, and name the version that wrote it."""
    found = about.get("format")
    if isinstance(found, int) and found > newest:
        raise ValueError(
            f"{path} was written by a newer version of evenhand, {about.get('version', 'which it does not name')} "
            f"(format {found}; this one, {__version__}, reads up to {newest}). Update evenhand to read it."
        )
