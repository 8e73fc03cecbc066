"""Which of the reports that are found a table or figure is made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._reports import read_reports

if TYPE_CHECKING:
    from .._catalogue import Exhibit

Report = dict[str, Any]
Note = Callable[[str], None]


def read_experiments(exhibit: Exhibit, places: Sequence[Path], note: Note) -> list[Report]:
    """The reports of a section, one for each cell; only those of the paper's networks, where it is about these."""
    found = [report for report in read_reports(*places) if report["experiment"] == exhibit.section.experiment]
    ours = [report for report in found if _as_in_the_paper(report)]
    if exhibit.any_network:
        ours = ours or found
    if not ours:
        raise FileNotFoundError(
            f"There should be finished runs for {exhibit.name} in {', '.join(map(str, places))}. Found none. To run "
            f"them: evenhand reproduce {exhibit.name}"
        )
    return _one_of_each(ours, note)


def read_benchmarks(exhibit: Exhibit, places: Sequence[Path], note: Note) -> list[Report]:
    """What a benchmark wrote: files with rows of numbers."""
    files = [file for place in places for file in (sorted(place.glob("*.json")) if place.is_dir() else [place])]
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    found = [d for d in documents if isinstance(d, dict) and isinstance(d.get("rows"), dict)]
    if not found:
        raise FileNotFoundError(
            f"{exhibit.name} should have a file that benchmarks/mixture_overhead.py wrote. Found none; name it with "
            "--from."
        )
    return found


def run_folders(places: Sequence[Path]) -> list[Path]:
    """The directories of finished runs in places, however deep."""
    found = {done.parent for place in places if place.is_dir() for done in place.rglob("DONE")}
    return sorted(path for path in found if (path / "report.json").is_file())


def _as_in_the_paper(report: Report) -> bool:
    return report["experiment"] != "table" or not report["config"]["model"].get("within_range", False)


def _one_of_each(reports: Sequence[Report], note: Note) -> list[Report]:
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
