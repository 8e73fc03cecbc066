"""The tables that results of `generate.py` make, in Markdown; needs nothing but the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from _imputation_tables import Results, failures, markdown, read_report

Found = Mapping[str, Any]


def page(path: Path) -> str:
    """Everything that a collected file holds."""
    return printed(*read_report(path))


def printed(results: Results, sides: Sequence[str], tables: Sequence[str]) -> str:
    """One table for each data set."""
    parts = [of_table(results, sides, table) for table in tables if table in results]
    judges = sorted({found["judge"] for table in results.values() for found in table.values() if "judge" in found})
    return "\n\n".join([*parts, f"Judge of detection: {', '.join(judges)}.", failures(results, sides, tables)])


def of_table(results: Results, sides: Sequence[str], table: str) -> str:
    """All measures of all sides on one data set."""
    head = ["", "detection", "training rows", "shapes", "pairs", "strong pairs", "lost", "utility", "membership", "s"]
    rows = [_row(label, found, result) for label, found, result in _ways(results[table], sides)]
    return markdown(f"{table}", head, rows)


def _ways(found: Mapping[str, Found], sides: Sequence[str]) -> Iterator[tuple[str, Found, Found]]:
    for side in sides:
        for way, measures in found.get(side, {}).get("ways", {}).items():
            yield f"{side}, {way}" if way else side, measures, found[side]


def _row(label: str, found: Found, result: Found) -> list[str]:
    names = ("detection", "detection, training rows", "shapes", "pairs", "strong")
    numbers = [f"{found[name]:.3f}" for name in names]
    seconds = sum(result["seconds"].values())
    return [
        label,
        *numbers,
        f"{found['lost']}",
        f"{found['utility']:.2f}",
        f"{found['membership']:.3f}",
        f"{seconds:.0f}",
    ]
