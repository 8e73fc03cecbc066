"""Reports of tables in the paper's order, and what the paper calls them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._published import DATA, SETTINGS, TABLE1
from ._reports import OF_COLUMNS, TableReport

Reports = Iterable[Mapping[str, Any]]


def by_cell(reports: Reports) -> dict[tuple[str, str], TableReport]:
    """The reports of the paper's data sets and settings; one for each."""
    found: dict[tuple[str, str], TableReport] = {}
    for report in _of_table_experiments(reports):
        key = report.data["name"], report.setting
        if key in found:
            raise ValueError(f"reports should have one of {key[0]} with {key[1]}. Found two; take one away.")
        if key in TABLE1:
            found[key] = report
    return found


def ordered(reports: Reports) -> list[TableReport]:
    """In the paper's order of data sets, then by setting; others follow."""
    data, settings = list(DATA), list(SETTINGS)

    def place(report: TableReport) -> tuple[int, str, int, str]:
        name, setting = report.data["name"], report.setting
        first = data.index(name) if name in data else len(data)
        return first, name, settings.index(setting) if setting in settings else len(settings), setting

    return sorted(_of_table_experiments(reports), key=place)


def title_of(report: TableReport) -> str:
    """The data set and the setting, as the paper calls them."""
    name = report.data["name"]
    return f"{DATA.get(name, name)} {report.setting}"


def _of_table_experiments(reports: Reports) -> list[TableReport]:
    return [TableReport(report) for report in reports if report["experiment"] in OF_COLUMNS]
