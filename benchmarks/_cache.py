"""Results in a folder, one small JSON file for each table and side, so that a run goes on where another ended."""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Task = Callable[[], dict[str, Any]]
FORK = multiprocessing.get_context("fork")  # what is imported need not be imported again


@dataclass(frozen=True)
class Cache:
    """A folder of results, ``FOLDER/TABLE/SIDE.json``.

    A side is run in a process of its own: its time is its own, and what it breaks does not end the run. An error is a
    result too, as is the limit of processor time; both stay until the file is deleted or the side is run again.
    """

    folder: Path

    def path(self, table: str, side: str) -> Path:
        return self.folder / table.replace("/", "-") / f"{side.replace(' ', '-').replace(',', '')}.json"

    def read(self, table: str, side: str) -> dict[str, Any] | None:
        path = self.path(table, side)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def write(self, table: str, side: str, result: dict[str, Any]) -> None:
        path = self.path(table, side)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"table": table, "side": side, **result}, indent=1)
        path.with_suffix(".part").write_text(text + "\n", encoding="utf-8")
        path.with_suffix(".part").replace(path)

    def run(self, table: str, side: str, task: Task, limit: int) -> dict[str, Any]:
        """Do a task in a process of its own and write its result, or why there is none."""
        self.path(table, side).unlink(missing_ok=True)
        process = FORK.Process(target=self._do, args=(table, side, task, limit))
        process.start()
        process.join()
        late = process.exitcode == -signal.SIGXCPU
        error = f"not done in {limit} s" if late else f"ended with {process.exitcode}"
        if self.read(table, side) is None:
            self.write(table, side, {"error message": error})
        return self.read(table, side) or {}

    def _do(self, table: str, side: str, task: Task, limit: int) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))  # also of processes that it starts
        try:
            self.write(table, side, task())
        except Exception as error:
            self.write(table, side, {"error message": f"{type(error).__name__}: {error}"[:500]})

    def collect(self, path: Path, command: str, sides: Iterable[str], tables: Iterable[str]) -> None:
        """Write everything to one file, a line for each result: what a page is made from.

        What the file has already is kept where the folder has nothing new.
        """
        found: dict[str, dict[str, Any]] = {}
        for results in (_collected(path), self.everything()):
            for table, by_side in results.items():
                found.setdefault(table, {}).update(by_side)
        lines = [
            f"{json.dumps(table)}: {{\n"
            + ",\n".join(
                f"{json.dumps(side)}: {json.dumps(found[table][side])}" for side in sides if side in found[table]
            )
            + "\n}"
            for table in tables
            if table in found
        ]
        head = {"command": command, "sides": list(sides), "tables": list(tables)}
        text = json.dumps(head)[:-1] + ', "results": {\n' + ",\n".join(lines) + "\n}}\n"
        path.write_text(text, encoding="utf-8")

    def everything(self) -> dict[str, dict[str, dict[str, Any]]]:
        """All results by table and side."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for path in sorted(self.folder.glob("*/*.json")):
            result = json.loads(path.read_text(encoding="utf-8"))
            found.setdefault(result["table"], {})[result["side"]] = result
        return found


def _collected(path: Path) -> dict[str, dict[str, Any]]:
    """The results of a file that was collected before; none if there is no such file."""
    return json.loads(path.read_text(encoding="utf-8"))["results"] if path.is_file() else {}
