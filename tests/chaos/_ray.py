"""Workers of Ray that are killed while they train."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from evenhand.lab import execute

from ._jobs import Job, left

VICTIMS = 5


def kill_workers(job: Job, root: Path, reference: dict[str, Any]) -> tuple[int, bool]:
    """Run a job on Ray while its workers are killed; returns how many were, and whether the results are the same."""
    root.mkdir()
    killed: list[int] = []
    over = threading.Event()
    killer = threading.Thread(target=_kill, args=(job, root, killed, over))
    killer.start()
    try:
        execute([job.config], root, executor="ray", workers=1, device="cpu", **job.options)
    finally:
        over.set()
        killer.join()
    return len(killed), left(job.folder(root).path) == reference


def _kill(job: Job, root: Path, killed: list[int], over: threading.Event) -> None:
    """Kill every worker that has written a checkpoint of its own, up to so many."""
    folder = job.folder(root).path
    while len(killed) < VICTIMS and not over.wait(0.05):
        with contextlib.suppress(OSError, ValueError):
            pid = int((folder / "lock").read_text())
            fresh = (folder / "checkpoint.pt").stat().st_mtime > (folder / "lock").stat().st_mtime
            if fresh and pid not in (*killed, os.getpid()) and not (folder / "DONE").exists():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                time.sleep(0.2)
