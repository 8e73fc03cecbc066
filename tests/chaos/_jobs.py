"""Small jobs that are run in processes of their own, killed, and run again; and what is left of them at the end."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evenhand.common import _whole
from evenhand.lab import Folder, MultimodalExperiment, from_dict, resolve, run
from evenhand.lab._config import Experiment

from ..lab._lab import tiny, weights, write_csv

VARYING = ("seconds", "finished", "hours")
MULTIMODAL = {
    "experiment": "multimodal",
    "data": {"name": "digits_in_three", "rows": 80},
    "objective": {"name": "elbo", "n_samples": 1},
    "training": {"epochs": 2, "batch_size": 12},
    "evaluation": {"rows": 20},
}


@dataclass(frozen=True)
class Job:
    """An experiment, and how often it writes a checkpoint."""

    name: str
    config: Experiment
    options: dict[str, Any]

    def run(self, root: Path, tick: Callable[[float, str], None] = lambda epochs, words: None) -> None:
        """Run it, from its last checkpoint if there is one."""
        run(self.config, root, device="cpu", tick=tick, **self.options)

    def folder(self, root: Path) -> Folder:
        """Its directory."""
        return Folder(root, resolve(self.config))


def jobs(root: Path) -> list[Job]:
    """A table and three modalities, of a second or two each."""
    path = write_csv(root / "people.csv")
    table = tiny(path, "training.epochs=24", "training.checks=4", "evaluation.generate=20", "training.hide=0.2")
    multimodal = from_dict(MULTIMODAL)
    assert isinstance(multimodal, MultimodalExperiment)
    return [Job("table", table, {"save_seconds": 0.02}), Job("modalities", multimodal, {"save_steps": 2})]


def prepare(root: Path) -> None:
    """What child processes inherit: cheap classifiers in a cache of their own, one thread, no pictures."""
    from evenhand.datasets.judges import _judges
    from evenhand.lab import _multimodal

    os.environ["XDG_CACHE_HOME"] = str(root / "cache")
    _judges.EPOCHS = _judges.LEAST_STEPS = 1
    _multimodal.sample_grid = _no_picture
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)


def _no_picture(*_: Any, **__: Any) -> Any:
    raise ImportError("drawing takes seconds")


def left(folder: Path) -> dict[str, Any]:
    """What a run leaves, without what two runs need not share."""
    found = {
        name: _without_times(json.loads((folder / f"{name}.json").read_text())) for name in ("report", "history")
    }
    others = sorted(p.name for p in folder.iterdir() if p.name not in ("lock", "clock.json"))
    return found | {"model": weights(folder / "model.safetensors"), "files": others}


def _without_times(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _without_times(value) for key, value in document.items() if key not in VARYING}
    return [_without_times(x) for x in document] if isinstance(document, list) else document


class Child:
    """A forked process that does some work; torch must not have started threads before.

    Args:
        work: What it does. It ends with 0, with 3 if that fails, or by a signal.
        said: A file for what it says when it fails.
    """

    def __init__(self, work: Callable[[], None], said: Path) -> None:
        self.said, self.started = said, time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._live(work)

    def _live(self, work: Callable[[], None]) -> None:
        code = 3
        try:
            work()
            code = 0
        except BaseException as error:
            self.said.write_text(f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        finally:
            os._exit(code)  # nothing of the parent's is cleaned up here

    def kill(self) -> None:
        """Without a warning."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """The exit code, or minus the signal."""
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


def die_while_writing(k: int) -> None:
    """From now on, this process is killed at the k-th step of writing files: before one is whole, or just after."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if count == k:
            os.kill(os.getpid(), signal.SIGKILL)

    class _Os:
        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def fsync(self, number: int) -> None:
            step()
            os.fsync(number)
            step()

    _whole.os = _Os()  # type: ignore[assignment]
    replace = Path.replace

    def replaced(self: Path, target: Any) -> Path:
        step()
        done = replace(self, target)
        step()
        return done

    Path.replace = replaced  # type: ignore[method-assign]
