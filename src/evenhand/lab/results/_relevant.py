"""Which of the reports that are found a table or figure is made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ._reports import OF_COLUMNS, read_reports

Report = dict[str, Any]
Note = Callable[[str], None]


def read_experiments(
    name: str, places: Sequence[Path], note: Note, *, experiment: str, any_network: bool
) -> list[Report]:
    """The reports of one kind of experiment, one for every cell of a table.

    Args:
        name: Of the table or figure.
        places: Files and folders to look in.
        note: Is told where there was a choice.
        experiment: The kind, "table" or "multimodal".
        any_network: Whether runs with other networks than the paper's are taken where there are no such runs.
    """
    found = [r for r in read_reports(*places) if r["experiment"] == experiment and not holds_rates(r)]
    ours = [report for report in found if _as_in_the_paper(report)]
    if any_network:
        ours = ours or found
    if not ours:
        raise FileNotFoundError(
            f"There should be finished runs for {name} in {', '.join(map(str, places))}. Found none. To run them: "
            f"evenhand reproduce {name}"
        )
    return one_of_each(ours, note)


def read_benchmarks(
    name: str, places: Sequence[Path], note: Note, *, experiment: str, any_network: bool
) -> list[Report]:
    """What a benchmark wrote: files with rows of numbers. The arguments are those of `read_experiments`."""
    files = [file for place in places for file in (sorted(place.glob("*.json")) if place.is_dir() else [place])]
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    found = [d for d in documents if isinstance(d, dict) and isinstance(d.get("rows"), dict)]
    if not found:
        raise FileNotFoundError(
            f"{name} should have a file that benchmarks/mixture_overhead.py wrote. Found none; name it with --from."
        )
    return found


def run_folders(places: Sequence[Path]) -> list[Path]:
    """The directories of finished runs in places, however deep."""
    found = {done.parent for place in places if place.is_dir() for done in place.rglob("DONE")}
    return sorted(path for path in found if (path / "report.json").is_file())


def _as_in_the_paper(report: Report) -> bool:
    return report["experiment"] != "table" or not report["config"]["model"].get("within_range", False)


def holds_rates(report: Report) -> bool:
    """Whether all runs hold a rate: such reports have tables of their own."""
    return report["experiment"] in OF_COLUMNS and all(isinstance(run["kl_weight"], str) for run in report["runs"])


def one_of_each(reports: Sequence[Report], note: Note) -> list[Report]:
    """Of several reports of the same experiment, that of the longest training."""
    found: dict[tuple[str, str], Report] = {}
    for report in reports:
        key = report["data"]["name"], report["name"]  # a file wine.csv gives experiments the names of those on wine
        if key in found:
            note(f"Several reports of {key[1]} on {key[0]}: the longest training is shown. --from chooses.")
        found[key] = max(found.get(key, report), report, key=_length)
    return list(found.values())


def _length(report: Report) -> tuple[int, int]:
    return report["config"]["training"]["epochs"], len(report.get("seeds", []))
