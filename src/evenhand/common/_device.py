"""Where to compute."""

from __future__ import annotations

import torch

from ._errors import ArgumentError


def find_device(name: str | torch.device) -> torch.device:
    """The device of that name; "auto" takes a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=torch.device(name)).device
    except (RuntimeError, TypeError, AssertionError) as error:
        raise ArgumentError("device", "be 'auto' or a device that is there", repr(name)) from error
