"""What a riddle found out, beside its script, with the command, the versions and the hardware that made it."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import torch

from evenhand import __version__


def keep(place: Path, command: str, **found: Any) -> None:
    """Write a report."""
    about = {
        "command": command,
        "versions": {"evenhand": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "hardware": "CPU, one thread",
    }
    place.write_text(json.dumps({**about, **found}, indent=1) + "\n")
