"""By which range are errors of numbers divided? The same reconstructions of table 1, by three ranges.

python paper/table1/riddles/ranges.py writes ranges.json beside it: medians over seeds of plain training and of the
impartial choice, from the committed reports, with errors divided by the range of the test rows (as reported), of the
training rows, and of the whole table. "other splits" has the 5th, 50th and 95th percentile of what the median of five
splits would be with test rows drawn anew 200 times and the same root mean squares. Nothing is trained; the data sets
have to be at hand.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand import __version__
from evenhand.lab import TableReport, from_dict
from evenhand.lab._splits import TRAIN, VALIDATION, Source, load
from evenhand.lab.results._published import TABLE1

REPORTS = Path(__file__).resolve().parents[1] / "reports"
SETTING = "VAE-ELBO"


def main() -> None:
    rows = {}
    for path in sorted(REPORTS.glob("*-vae-elbo.json")):
        report = TableReport(json.loads(path.read_text()))
        if report.setting == SETTING:
            rows[report.data["name"]] = compare(report)
            print(report.data["name"], rows[report.data["name"]], flush=True)
    about = {
        "command": "python paper/table1/riddles/ranges.py",
        "versions": {"evenhand": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "hardware": "CPU, one thread",
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps({**about, "tables": rows}, indent=1) + "\n")


def compare(report: TableReport) -> dict[str, Any]:
    """Medians of both arms by every range, and the paper's."""
    config: Any = from_dict(report.report["config"])
    source = load(config.data)
    factors = {"test rows": 1.0, "training rows": [], "all rows": []}
    for seed in report.seeds:
        for name, factor in by_other_ranges(source, seed).items():
            factors[name].append(factor)  # type: ignore[attr-defined]
    published = TABLE1[report.data["name"], SETTING]
    arms = (report.plain, report.best())
    found: dict[str, Any] = {"paper": [cell.value for cell in published]}
    for name, factor in factors.items():
        columns = [np.array(run["columns"], float) * np.asarray(factor) for run in arms if run is not None]
        found[name] = [round(float(np.nanmedian(np.nanmean(c, axis=1))), 4) for c in columns]
    found["other splits"] = [over_splits(report, run, source) for run in arms if run is not None]
    return found


def over_splits(report: TableReport, run: Any, source: Source, draws: int = 200) -> list[float]:
    """Percentiles of the median over five splits, if root mean squares did not depend on the split but ranges did."""
    values, numeric = _numbers(source)
    squares = []
    for s, seed in enumerate(report.seeds):
        extent = _extent(values[_parts(len(values), seed)[2]])
        squares.append(np.array(run["columns"][s], float) * np.where(numeric, extent, 1.0))
    root = np.nanmedian(squares, axis=0)
    errors = []
    for seed in range(1000, 1000 + 5 * draws):
        extent = _extent(values[_parts(len(values), seed)[2]])
        errors.append(float(np.nanmean(root / np.where(numeric, extent, 1.0))))
    medians = np.median(np.reshape(errors, (draws, 5)), axis=1)
    return [round(float(x), 4) for x in np.percentile(medians, [5, 50, 95])]


def by_other_ranges(source: Source, seed: int) -> dict[str, NDArray[np.float64]]:
    """What errors of columns by the range of test rows are multiplied by; 1 for categories."""
    values, numeric = _numbers(source)
    train, _, test = _parts(len(values), seed)
    here = _extent(values[test])
    others = {"training rows": values[train], "all rows": values}
    return {name: np.where(numeric, here / _extent(rows), 1.0) for name, rows in others.items()}


def _numbers(source: Source) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """All cells, NaN where they are missing, and which columns hold numbers."""
    values = np.where(source.table.observed, source.table.values, np.nan)
    return values, np.array([column.kind.numeric for column in source.schema])


def _parts(n: int, seed: int) -> list[NDArray[np.intp]]:
    bounds = [int(TRAIN * n), int((TRAIN + VALIDATION) * n + 1e-9)]
    return np.split(np.random.default_rng(seed).permutation(n), bounds)


def _extent(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.nanmax(rows, 0) - np.nanmin(rows, 0)
    return found


if __name__ == "__main__":
    main()
