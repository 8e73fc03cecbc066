"""The directory of a run: what is in it is whole, and who works in it works alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from ..common import locked_file, whole_file
from ._config import Experiment, hash_of, read_config, to_toml

State = Literal["done", "started", "not begun"]
BEFORE = ("lock", "config.toml.*.partial")  # what can be in a directory before its config is
FILES = (  # what a run may leave beside its config; DONE goes first, because then the rest is no longer whole
    "DONE", "report.json", "report.html", "history.json", "samples.npz", "samples.png", "model.safetensors",
    "checkpoint.pt", "clock.json",
)  # fmt: skip


class Folder:
    """The directory of one experiment.

    Its name ends with the hash of the config, so that another setting is another directory. Files are written whole
    or not at all; ``DONE`` is written last, and nothing in the directory is taken for a result without it.

    Args:
        root: Where directories of runs are.
        config: The experiment, resolved.
    """

    def __init__(self, root: str | Path, config: Experiment) -> None:
        self.config = config
        self.path = Path(root) / f"{config.name}-{hash_of(config)}"

    @property
    def state(self) -> State:
        """How far the run is."""
        if (self.path / "DONE").is_file():
            return "done"
        return "started" if (self.path / "config.toml").is_file() else "not begun"

    @property
    def resumable(self) -> bool:
        """Whether a run that is not done would go on from a checkpoint, or from trained weights."""
        trained = all((self.path / name).is_file() for name in ("model.safetensors", "history.json"))
        return (self.path / "checkpoint.pt").is_file() or trained

    def begin(self) -> None:
        """Make the directory and keep the config in it; for who holds the lock."""
        self._make()
        if not (self.path / "config.toml").is_file():
            self.write("config.toml", to_toml(self.config))
        for left in self.path.glob("*.partial"):  # by a process that was killed while it wrote
            left.unlink()

    def finish(self) -> None:
        """Say that everything is there."""
        self.write("DONE", "")
        self.tidy()

    def tidy(self) -> None:
        """Delete the checkpoint of a run that is done; a process that was killed just after the end left it there."""
        with suppress(OSError):  # whoever may only read has it tidied by others
            (self.path / "checkpoint.pt").unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all files of the run. Other files stay, and what is not a run's directory is left alone."""
        if not self.path.is_dir():
            return
        if self.state == "not begun" and not all(any(map(p.match, BEFORE)) for p in self.path.iterdir()):
            raise ValueError(
                f"{self.path} should be the directory of a run. Found no config in it; delete it by hand."
            )
        for path in [*(self.path / name for name in FILES), *self.path.glob("*.partial")]:
            path.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out; the lock falls with the process, however it ends."""
        self._make()
        with ExitStack() as held:
            try:
                lock = held.enter_context(locked_file(self.path / "lock"))
            except BlockingIOError as error:
                raise RuntimeError(
                    f"{self.path} is being worked on by another process. Wait for it, or stop it."
                ) from error
            lock.truncate(0)
            lock.write(str(os.getpid()))  # who it is, for whoever wants to stop it
            lock.flush()
            yield

    def _make(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"root should be a folder that can be written to. Found {self.path.parent}: {error}"
            ) from error

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file whole or not at all: a reader sees the old one or the new one, never a part."""
        with whole_file(self.path / name) as partial:
            partial.write_bytes(content.encode() if isinstance(content, str) else content)
        return self.path / name

    def write_json(self, name: str, document: Any) -> Path:
        """Write JSON; numbers that are not finite must be None."""
        return self.write(name, json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n")

    def report(self) -> dict[str, Any]:
        """The report of a finished run."""
        if self.state != "done":
            raise FileNotFoundError(f"{self.path} should hold a finished run. It is {self.state}; run it to its end.")
        document: dict[str, Any] = json.loads((self.path / "report.json").read_text())
        return document


def open_folder(path: str | Path) -> Folder:
    """The directory of a run, by its path."""
    path = Path(path)
    if not (path / "config.toml").is_file():
        raise FileNotFoundError(f"path should be the directory of a run, with a config.toml in it. Found {path}.")
    folder = Folder(path.parent, read_config(path / "config.toml"))
    folder.path = path  # it may have been renamed
    return folder
