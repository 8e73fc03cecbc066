"""Kills at random moments, full disks, folders that cannot be written to, two at once; and what came of it."""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._jobs import Child, Job, die_while_writing, jobs, left, prepare
from ._ray import VICTIMS, kill_workers

ANY_TIME, WRITING, MEASURING = "at any time", "while writing", "while measuring"
MOMENTS = (ANY_TIME, WRITING, MEASURING)
MOST_STARTS = 60  # of one job; more would mean that it never ends
NOBODY = 65534


class Campaign:
    """All that is done to jobs, and what was found.

    Args:
        root: An empty folder.
        chance: Where random moments come from.
        short: Whether there is a table only, and no Ray.
    """

    def __init__(self, root: Path, chance: random.Random, *, short: bool = False) -> None:
        prepare(root)
        root.chmod(0o711)  # for the one who may do nothing but look
        self._root, self._chance = root, chance
        self._jobs = jobs(root)[: 1 if short else None]
        self._references: dict[str, tuple[dict[str, Any], float]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._others: dict[str, str] = {}
        self.failures: list[str] = []

    @property
    def n_kills(self) -> int:
        """How many processes were killed."""
        return sum(self._counts.values())

    def run(self, kills: int, *, ray: bool = True) -> None:
        """Everything; the last kills are those of Ray's workers."""
        self.kill(kills - VICTIMS * ray)
        for job in self._jobs:
            self.full_disk(job)
            self.read_only(job)
            self.two_at_once(job)
        if ray:
            died, equal = kill_workers(self._jobs[0], self._root / "ray", self.reference(self._jobs[0])[0])
            self._counts["table", "a Ray worker"] += died
            self._note("on Ray", equal, "the results of jobs whose workers died are others")

    # ---------------------------------------------------------------- kills

    def kill(self, kills: int) -> None:
        """Run jobs again and again, killing them, until so many processes were killed."""
        for number in range(10 * kills):
            if self.n_kills >= kills:
                return
            job = self._jobs[number % len(self._jobs)]
            self._torment(job, self._root / f"{job.name}-{number}", MOMENTS[number // 2 % 3], kills)

    def _torment(self, job: Job, root: Path, moment: str, kills: int) -> None:
        """Kill a job until it gets through, or until there were enough kills; then compare."""
        for number in range(MOST_STARTS):
            spared = self.n_kills >= kills
            # a machine that became busy must not keep it from its first checkpoint for ever
            code = self._start(job, root, "" if spared else moment, patience=1.1 + 0.3 * number)
            if code == 0:
                break
            if code != -9:
                self.failures.append(f"{job.name}: {(root / 'said').read_text()}")
                return
            self._counts[job.name, moment] += 1
        else:
            self.failures.append(f"{job.name}: killed {MOST_STARTS} times {moment}, it never came to its end")
            return
        if left(job.folder(root).path) != self.reference(job)[0]:
            self.failures.append(f"{job.name}: other results after kills {moment}, seed {root.name}")
        print(f"{root.name}: {self.n_kills} kills so far, {len(self.failures)} failures", flush=True)

    def _start(self, job: Job, root: Path, moment: str, *, patience: float) -> int:
        root.mkdir(exist_ok=True)
        seconds, pause, k = self.reference(job)[1], self._chance.random(), self._chance.randint(1, 60)
        child = Child(_doomed(job, root, moment, pause, k), root / "said")
        if moment == ANY_TIME:
            time.sleep(patience * seconds * pause)
            child.kill()
        return child.wait()

    def reference(self, job: Job) -> tuple[dict[str, Any], float]:
        """What an undisturbed run leaves, and how long it takes."""
        if job.name not in self._references:
            root = self._root / f"{job.name}-reference"
            root.mkdir()
            for place in (root / "first", root):  # the first one fills the cache
                place.mkdir(exist_ok=True)
                started = time.monotonic()
                child = Child(lambda place=place: job.run(place), root / "said")  # type: ignore[misc]
                if child.wait() != 0:
                    raise RuntimeError((root / "said").read_text())
            self._references[job.name] = left(job.folder(root).path), time.monotonic() - started
        return self._references[job.name]

    # ---------------------------------------------------------------- other mischief

    def full_disk(self, job: Job) -> None:
        """No file may grow: the job fails with a sentence, and goes on when there is room again."""
        root = self._root / f"{job.name}-full"
        root.mkdir()
        code = Child(lambda: _without_room(job, root), self._root / "full").wait()
        failed = code == 3 and job.folder(root).state != "done"
        said = (self._root / "full").read_text().partition("\n")[0]
        self._note(f"{job.name}, full disk", failed and self._again(job, root), f"exit code {code}: {said}")

    def read_only(self, job: Job) -> None:
        """A folder that cannot be written to is refused, and left as it is."""
        root = self._root / f"{job.name}-closed"
        root.mkdir()
        said = self._root / f"{job.name}-closed.txt"
        said.touch()
        said.chmod(0o666)
        root.chmod(0o555)
        code = Child(lambda: _as_nobody(job, root), said).wait()
        root.chmod(0o755)
        refused = code == 3 and "should be a folder that can be written to" in said.read_text()
        fine = refused and not any(root.iterdir()) and self._again(job, root)
        self._note(f"{job.name}, read-only folder", fine, f"exit code {code}")

    def two_at_once(self, job: Job) -> None:
        """Of two processes on one directory, one is refused."""
        root = self._root / f"{job.name}-two"
        root.mkdir()
        children = [Child(lambda: job.run(root), root / f"said {i}") for i in range(2)]
        codes = sorted(child.wait() for child in children)
        said = "".join(p.read_text() for p in root.glob("said *"))
        refused = codes == [0, 3] and "is being worked on by another process" in said
        same = refused and left(job.folder(root).path) == self.reference(job)[0]
        self._note(f"{job.name}, two processes", same, f"exit codes {codes}")

    def _again(self, job: Job, root: Path) -> bool:
        code = Child(lambda: job.run(root), self._root / "said").wait()
        return code == 0 and left(job.folder(root).path) == self.reference(job)[0]

    def _note(self, what: str, fine: bool, why: str) -> None:
        self._others[what] = "same results" if fine else f"failed: {why}"
        print(f"{what}: {self._others[what]}", flush=True)
        if not fine:
            self.failures.append(f"{what}: {why}")

    def table(self) -> str:
        """What was done, and what came of it."""
        lines = [f"| {job} | killed {moment} | {n} times |" for (job, moment), n in sorted(self._counts.items())]
        return "\n".join([*lines, *(f"| {what} | | {result} |" for what, result in self._others.items())])


def _doomed(job: Job, root: Path, moment: str, pause: float, k: int) -> Callable[[], None]:
    def work() -> None:
        if moment == WRITING:
            die_while_writing(k)
        job.run(root, _killing_tick(pause) if moment == MEASURING else lambda epochs, words: None)

    return work


def _killing_tick(pause: float) -> Callable[[float, str], None]:
    """Kills the process a moment after its training is over."""

    def tick(epochs: float, words: str) -> None:
        if words.startswith(("measuring", "generating", "preparing the", "scoring")) and pause < 0.6:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.2 * pause)

    return tick


def _without_room(job: Job, root: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    job.run(root)


def _as_nobody(job: Job, root: Path) -> None:
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    job.run(root)
