"""A config becomes a run, a run a directory."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from .. import __version__
from ..common import Tick, find_device
from ._config import (
    Experiment,
    MultimodalExperiment,
    PanelExperiment,
    SurvivalExperiment,
    TableExperiment,
    resolve,
)
from ._folder import Folder
from ._multimodal import run_multimodal
from ._panels import run_panel
from ._survival import run_survival
from ._tabular import run_table
from .results import FORMAT

RUNNERS: Mapping[type[Experiment], Callable[..., dict[str, Any]]] = MappingProxyType(
    {
        TableExperiment: run_table,
        PanelExperiment: run_panel,
        MultimodalExperiment: run_multimodal,
        SurvivalExperiment: run_survival,
    }
)


def run(
    config: Experiment,
    root: str | Path = "runs",
    *,
    force: bool = False,
    device: str = "auto",
    command: str = "",
    tick: Tick = lambda epochs, words: None,
    **options: Any,
) -> Folder:
    """Run an experiment in its directory, and return that.

    A run that is done is not run again. One that was interrupted, at any moment, resumes from its last checkpoint
    and ends with the same numbers. Everything in the directory is whole; ``DONE`` says that all of it is there.

    Args:
        config: The experiment.
        root: Where directories of runs are.
        force: Whether to start over.
        device: "auto" takes a GPU if there is one.
        command: What to type to get this run, for the report.
        tick: Called with the number of epochs done since the last call and a few words.
        options: Passed on to the experiment, such as ``save_seconds`` between checkpoints.

    Example:
        >>> from evenhand.lab import run, read_config
        >>> folder = run(read_config("hi.toml"), "runs")  # doctest: +SKIP
        >>> folder.report()["runs"][0]["error"]  # doctest: +SKIP
    """
    config = resolve(config)
    folder = Folder(root, config)
    if folder.state == "done" and not force:
        folder.tidy()
        return folder
    place: dict[str, Any] = {"device": find_device(device), "tick": tick, **options}
    with folder.locked():
        if force:
            folder.clear()
        if folder.state == "done":  # another process may have ended it just now
            return folder
        folder.begin()
        report = RUNNERS[type(config)](config, folder, **place)
        folder.write_json("report.json", {"format": FORMAT, "command": command} | _where(device) | report)
        folder.finish()
    return folder


def _where(device: str) -> dict[str, Any]:
    """What it was made with."""
    place = find_device(device)
    return {
        "versions": {
            "evenhand": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "hardware": torch.cuda.get_device_name(place)
        if place.type == "cuda"
        else platform.processor() or platform.machine(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
