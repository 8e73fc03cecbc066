"""The paper's tables of tables, from reports alone, with the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ._order import Reports, by_cell
from ._published import DATA, GROUPS, HETEROGENEOUS, SETTINGS, TABLE1, TABLE2, TABLE6, TABLE7, TABLE8
from ._reports import Run, TableReport
from ._statistics import ALPHA
from ._table import UNKNOWN, Cell, Table

BOLD = f"Bold: better by the corrected paired t-test, alpha = {ALPHA:g}."
LIKELIHOODS = {"count": "Poisson", "nominal": "Cat.", "positive": "log N", "real": "N"}


def table1(reports: Reports, *, published: bool = True) -> Table:
    """Median test errors of plain and impartial training, by data set, model and objective.

    Args:
        reports: All that there are. Data sets and models without any are left out, unless there are none at all;
            what else is missing is a dash.
        published: Whether to write the paper's numbers below ours.
    """
    found = by_cell(reports)
    names = {data: title for data, title in DATA.items() if any(cell[0] == data for cell in found)} or DATA
    settings = [setting for setting in SETTINGS if any(cell[1] == setting for cell in found)] or SETTINGS
    rows: list[list[str | Cell]] = []
    for setting in settings:
        pairs = [_medians(found.get((data, setting))) for data in names]
        rows += [[setting, "vanilla", *(a for a, _ in pairs)], ["", "impartial", *(b for _, b in pairs)]]
        if published:
            paper = [TABLE1[data, setting] for data in names]
            rows += [["", "paper, vanilla", *(a for a, _ in paper)]]
            rows += [["", "paper, impartial", *(b for _, b in paper)]]
    step = 4 if published else 2
    notes = ["Medians over seeds. " + BOLD, _count(found, published)]
    header = [["", "", *names.values()]]
    return Table("Test reconstruction errors", header, rows, notes, 2, range(0, len(rows), step))


def table2(reports: Reports, *, published: bool = True) -> Table:
    """Errors by type of likelihood over the heterogeneous tables: the mean of their medians."""
    found = [r for (data, _), r in by_cell(reports).items() if data in HETEROGENEOUS and r.best() is not None]
    pairs = [_of_kind(found, kind) for kind in LIKELIHOODS]
    rows: list[list[str | Cell]] = [["vanilla", *(a for a, _ in pairs)], ["impartial", *(b for _, b in pairs)]]
    if published:
        paper = [TABLE2[kind] for kind in LIKELIHOODS]
        rows += [
            ["paper, vanilla", *(a for a, _ in paper)],
            ["paper, impartial", *(b for _, b in paper)],
        ]
    n = len({report.data["name"] for report in found})
    notes = [
        f"The mean over {len(found)} reports of {n} heterogeneous tables of medians over seeds. Bold: the lower."
    ]
    return Table("Errors by type of likelihood", [["", *LIKELIHOODS.values()]], rows, notes, 1, [2])


def table6(reports: Reports, *, published: bool = True) -> Table:
    """The tables: rows, columns, kinds."""
    found = {data: report for (data, _), report in by_cell(reports).items()}
    rows: list[list[str | Cell]] = []
    for data, title in DATA.items():
        ours = _sizes(found[data]) if data in found else [math.nan] * 6
        numbers = [*ours, *TABLE6[data]] if published else ours
        rows.append([title, *(Cell(n, 0) for n in numbers)])
    titles = ["N", "D", *(kind.capitalize() for kind in GROUPS)]
    groups = [["", *["here"] * 6, *["paper"] * 6]] if published else []
    header = [*groups, ["Data set", *titles, *(titles if published else [])]]
    return Table("Data sets", header, rows, n_labels=1, breaks=[len(HETEROGENEOUS)])


def table7(reports: Reports, *, published: bool = True) -> Table:
    """The chosen methods."""
    found = by_cell(reports)
    rows: list[list[str | Cell]] = []
    for data, title in DATA.items():
        ours = [_chosen_label(found.get((data, setting))) for setting in SETTINGS]
        rows.append([title, *ours, *([TABLE7[data, setting] for setting in SETTINGS] if published else [])])
    groups = [["", *["here"] * 4, *["paper"] * 4]] if published else []
    header = [*groups, ["Data set", *SETTINGS, *(SETTINGS if published else [])]]
    notes = ["GN, GD, PG and MGDA stand for GradNorm, GradDrop, PCGrad and MGDA-UB."]
    return Table(
        "Methods with the lowest validation error", header, rows, notes, len(header[-1]), [len(HETEROGENEOUS)]
    )


def table8(reports: Reports, *, published: bool = True) -> Table:
    """Means and standard deviations of test errors."""
    found = by_cell(reports)
    rows: list[list[str | Cell]] = []
    for data, title in DATA.items():
        pairs = [_means(found.get((data, setting))) for setting in SETTINGS]
        pairs += [TABLE8[data, setting] for setting in SETTINGS] if published else []
        rows += [[title, "vanilla", *(a for a, _ in pairs)], ["", "impartial", *(b for _, b in pairs)]]
    groups = [["", "", *["here"] * 4, *["paper"] * 4]] if published else []
    header = [*groups, ["Data set", "Method", *SETTINGS, *(SETTINGS if published else [])]]
    return Table("Test errors, mean ± standard deviation", header, rows, [BOLD], 2, range(0, len(rows), 2))


# ---------------------------------------------------------------- inside


def _medians(report: TableReport | None) -> tuple[Cell, Cell]:
    run = None if report is None else report.best()
    if report is None or run is None:
        return (UNKNOWN if report is None else Cell(report.median(report.plain, "error"))), UNKNOWN
    plain, ours = (report.median(r, "error") for r in (report.plain, run))
    return Cell(plain, bold=_worse(report, run)), Cell(ours, bold=report.significant(run))


def _means(report: TableReport | None) -> tuple[Cell, Cell]:
    if report is None:
        return UNKNOWN, UNKNOWN
    cells = [
        UNKNOWN if run is None else Cell(report.mean(run, "error"), 3, False, report.std(run, "error"))
        for run in (report.plain, report.best())
    ]
    run = report.best()
    bold = [run is not None and _worse(report, run), run is not None and report.significant(run)]
    plain, ours = (Cell(c.value, c.digits, b, c.std) for c, b in zip(cells, bold, strict=True))
    return plain, ours


def _worse(report: TableReport, run: Run) -> bool:
    """Whether plain training is the better one, by the same test."""
    return report.p_value(run) > 1 - ALPHA


def _count(found: Mapping[tuple[str, str], TableReport], published: bool) -> str:
    """How many cells improve, and in how many by more than chance."""
    pairs = {key: pair for key, report in found.items() if not math.isnan((pair := _medians(report))[1].value)}
    text = f"Impartial training has the lower median in {_improved(list(pairs.values()))}."
    if published:
        text += f" In the paper: {_improved(list(TABLE1.values()))}"
        text += f"; of the cells that are here, {_improved([TABLE1[key] for key in pairs])}." if pairs else "."
    return text


def _improved(pairs: Sequence[tuple[Cell, Cell]]) -> str:
    lower = sum(ours.value < plain.value for plain, ours in pairs)
    return f"{lower} of {len(pairs)} cells, significantly in {sum(ours.bold for _, ours in pairs)}"


def _of_kind(reports: Sequence[TableReport], kind: str) -> tuple[Cell, Cell]:
    both = [(r.by_kind(r.plain), r.by_kind(r.chosen)) for r in reports]
    known = [(a[kind], b[kind]) for a, b in both if not math.isnan(a.get(kind, math.nan) + b.get(kind, math.nan))]
    if not known:
        return UNKNOWN, UNKNOWN
    plain, ours = (sum(side) / len(known) for side in zip(*known, strict=True))
    return Cell(plain, bold=plain < ours), Cell(ours, bold=ours < plain)


def _sizes(report: TableReport) -> list[float]:
    kinds = [kind if kind in GROUPS else "nominal" for kind in report.kinds]
    return [report.data["rows"], len(kinds), *(kinds.count(group) for group in GROUPS)]


def _chosen_label(report: TableReport | None) -> str:
    run = None if report is None else report.best()
    return "-" if report is None or run is None else report.short_label(run)
