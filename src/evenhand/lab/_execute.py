"""Many experiments: one after the other or side by side here, or on a Ray cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Literal

import torch

from ..common import Tick
from ._config import Experiment, from_dict, resolve, to_dict
from ._folder import Folder
from ._run import run

Executor = Literal["local", "ray"]
Begin = Callable[[Folder, int], Tick]
"""Called with the directory of a job that begins and its number; what it returns is told how the job goes on."""

RETRIES = 10  # of a job whose worker died; each goes on where the last one was


class FailedError(RuntimeError):
    """Some experiments failed; the others, if any, are done."""


def execute(
    configs: Sequence[Experiment],
    root: str | Path = "runs",
    *,
    executor: Executor = "local",
    force: bool = False,
    begin: Begin = lambda folder, number: lambda epochs, words: None,
    finish: Callable[[Folder], None] = lambda folder: None,
    fail: Callable[[Folder, Exception], None] = lambda folder, error: None,
    address: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> list[Folder]:
    """Run all experiments that are not done, and return their directories in order.

    A job that fails does not stop the others; at the end an error names those that failed.

    Args:
        configs: The experiments.
        root: Where directories of runs are; on a cluster, a folder that all machines see.
        executor: "local" runs them in order, or `workers` of them side by side. "ray" sends each to a Ray cluster: a
            job whose worker dies is started again elsewhere and resumes from its last checkpoint.
        force: Whether to start over those that are done.
        begin: Called when a job begins, or is handed to the cluster, from which nothing is heard until it ends.
        finish: Called with the directory of a job that is done.
        fail: Called at once with the directory of a job that fails, and why.
        address: Of a Ray cluster. If None, one that is known on this machine is used, or else one is started.
        workers: So many processes here, which may share one GPU; with "ray", start a Ray here with so many,
            whatever else is known.
        options: Passed on to `run`.
    """
    if address is not None and workers is not None:
        raise ValueError(
            f"workers should be left out where address names a cluster. Found {workers} and {address!r}."
        )
    configs = [resolve(config) for config in configs]
    folders = [Folder(root, config) for config in configs]
    if len({folder.path for folder in folders}) < len(folders):
        raise ValueError("configs should be different. Found two that are the same.")
    pending = [i for i, folder in enumerate(folders) if force or folder.state != "done"]
    if executor == "local":
        outcomes = _local([configs[i] for i in pending], root, begin, workers or 1, force=force, **options)
    elif executor == "ray":
        outcomes = _on_ray([configs[i] for i in pending], root, begin, address, workers, force=force, **options)
    else:
        raise ValueError(f"executor should be 'local' or 'ray'. Found {executor!r}.")
    failed: list[tuple[Folder, Exception]] = []
    for number, error in outcomes:
        folder = folders[pending[number]]
        if error is None:
            finish(folder)
        else:
            failed.append((folder, error))
            fail(folder, error)
    if failed:
        raise _failure(failed, len(configs)) from failed[0][1]
    return folders


def _failure(failed: Sequence[tuple[Folder, Exception]], n: int) -> FailedError:
    lines = [f"  {folder.path.name}: {error}" for folder, error in failed]
    rest = ", the others are done" if len(failed) < n else ""
    return FailedError("\n".join([f"{len(failed)} of {n} experiments failed{rest}:", *lines]))


Outcomes = Iterator[tuple[int, Exception | None]]


def _local(configs: Sequence[Experiment], root: str | Path, begin: Begin, workers: int, **options: Any) -> Outcomes:
    if workers > 1:
        yield from _side_by_side(configs, root, begin, workers, options)
        return
    for number, config in enumerate(configs):
        try:
            run(config, root, tick=begin(Folder(root, config), number), **options)
        except Exception as error:
            yield number, error
        else:
            yield number, None


@dataclass
class _Process:
    """A job in a process of its own; `ended` is what went wrong, empty for nothing, once it has told."""

    name: str
    number: int
    process: SpawnProcess
    connection: Connection
    tick: Tick
    ended: str | None = None

    def hear(self) -> bool:
        """Take what it says: how far it is, a warning, or how it ended. Returns whether there is more to come."""
        try:
            what, *said = self.connection.recv()
        except EOFError:
            return False
        if what == "tick":
            self.tick(*said)
        elif what == "warning":
            words, category = said
            warnings.warn(f"{self.name}: {words}", category, stacklevel=2)
        else:
            (self.ended,) = said
        return True

    def outcome(self) -> Exception | None:
        """How it ended, now that nothing more is heard."""
        self.process.join()
        code = self.process.exitcode
        died = f"its process ended with exit code {code}. Run it again: it goes on from its last checkpoint."
        words = died if self.ended is None else self.ended
        return RuntimeError(words) if words else None


def _side_by_side(
    configs: Sequence[Experiment], root: str | Path, begin: Begin, workers: int, options: dict[str, Any]
) -> Outcomes:
    """Each in a process of its own, so many at a time: what breaks in one does not touch the others."""
    context = multiprocessing.get_context("spawn")  # a forked process cannot use a GPU
    threads = max(1, (os.cpu_count() or 1) // workers)
    waiting = deque(enumerate(configs))
    running: dict[Any, _Process] = {}  # by where they are heard
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                number, config = waiting.popleft()
                tick = begin(Folder(root, config), number)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_tell, args=(theirs, to_dict(config), str(root), options, threads))
                process.start()
                theirs.close()  # so that nothing is left to hear once the process has ended
                running[ours] = _Process(config.name, number, process, ours, tick)
            for heard in wait(list(running)):
                if not running[heard].hear():
                    job = running.pop(heard)
                    yield job.number, job.outcome()
    finally:  # interrupted: what they have done so far is in their checkpoints
        for job in running.values():
            job.process.terminate()
            job.process.join()


def _tell(connection: Connection, document: dict[str, Any], root: str, options: dict[str, Any], threads: int) -> None:
    """Run a job, and send how far it is, and warnings; at the end what went wrong, or nothing."""

    def tick(epochs: float, words: str) -> None:
        connection.send(("tick", epochs, words))

    def warned(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        connection.send(("warning", str(message), category))

    warnings.showwarning = warned  # the process does nothing else
    try:
        _job(document, root, {**options, "tick": tick}, threads)
    except KeyboardInterrupt:
        return
    except Exception as error:
        connection.send(("end", str(error) or type(error).__name__))
    else:
        connection.send(("end", ""))


def _on_ray(
    configs: Sequence[Experiment],
    root: str | Path,
    begin: Begin,
    address: str | None,
    workers: int | None,
    *,
    force: bool,
    **options: Any,
) -> Outcomes:
    if not configs:
        return
    root = Path(root).absolute()
    with _cluster(address, workers) as ray:
        gpus = 1 if ray.cluster_resources().get("GPU") else 0
        job = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_job)
        waiting = {}
        for number, config in enumerate(configs):
            folder = Folder(root, config)
            try:
                if force:  # once, and here: a job whose worker died is to go on, not to start over again
                    with folder.locked():
                        folder.clear()
            except (RuntimeError, ValueError) as error:
                yield number, error
            else:
                waiting[job.remote(to_dict(config), str(root), options)] = number
                begin(folder, number)
        while waiting:
            (done,), _ = ray.wait(list(waiting))
            number = waiting.pop(done)
            try:
                ray.get(done)
            except ray.exceptions.RayError as error:
                yield number, getattr(error, "cause", None) or error
            else:
                yield number, None


def _job(document: dict[str, Any], root: str, options: dict[str, Any], threads: int = 1) -> None:
    torch.set_num_threads(threads)  # a worker has one processor, or its part of them
    run(from_dict(document), root, **options)


@contextmanager
def _cluster(address: str | None, workers: int | None) -> Iterator[Any]:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # jobs without a GPU leave the variables alone
    try:
        import ray
    except ImportError as error:
        raise ImportError("executor='ray' needs Ray: pip install 'evenhand[ray]'") from error

    ours = not ray.is_initialized()
    if ours:
        ray.init(
            address="local" if address is None and workers is not None else address,
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()
