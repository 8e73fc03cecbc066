"""The paper's tables of tables, from reports alone, with the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._multimodal_tables import coherence_by_objective
from ._published import DATA, GROUPS, HETEROGENEOUS, OVERHEAD, SETTINGS, TABLE1, TABLE2, TABLE6, TABLE7, TABLE8, Pair
from ._results import Run, TableReport
from ._score_tables import ALPHA
from ._score_tables import Cell as Score
from ._table import Cell, Table

Reports = Iterable[Mapping[str, Any]]

MISSING = Cell(math.nan)
BOLD = f"Bold: better by the corrected paired t-test, alpha = {ALPHA:g}."
LIKELIHOODS = {"count": "Poisson", "nominal": "Cat.", "positive": "log N", "real": "N"}

# What stands beside the error: measure, title, digits.
MEASURES = (
    ("rate", "rate", 1),
    ("elbo", "ELBO", 1),
    ("log_likelihood", "log p", 1),
    ("hidden", "hidden cells", 3),
    ("quality", "quality", 3),
)


def table1(reports: Reports, *, published: bool = True) -> Table:
    """Median test errors of plain and impartial training, by data set, model and objective.

    Args:
        reports: All that there are. Data sets and models without any are left out, unless there are none at all;
            what else is missing is a dash.
        published: Whether to write the paper's numbers below ours.
    """
    found = _by_cell(reports)
    names = {data: title for data, title in DATA.items() if any(cell[0] == data for cell in found)} or DATA
    settings = [setting for setting in SETTINGS if any(cell[1] == setting for cell in found)] or SETTINGS
    rows: list[list[str | Cell]] = []
    for setting in settings:
        pairs = [_medians(found.get((data, setting))) for data in names]
        rows += [[setting, "vanilla", *(a for a, _ in pairs)], ["", "impartial", *(b for _, b in pairs)]]
        if published:
            paper = [TABLE1[data, setting] for data in names]
            rows += [["", "paper, vanilla", *(_score(a) for a, _ in paper)]]
            rows += [["", "paper, impartial", *(_score(b) for _, b in paper)]]
    step = 4 if published else 2
    notes = ["Medians over seeds. " + BOLD, _count(found, published)]
    header = [["", "", *names.values()]]
    return Table("Test reconstruction errors", header, rows, notes, 2, range(0, len(rows), step))


def controls(reports: Reports, *, published: bool = True) -> Table:
    """What a lower error costs: plain training at every KL weight, the chosen method, and the best unrestored one.

    Args:
        reports: Of any tables and models.
        published: Whether to write the paper's errors beside ours.
    """
    found = ordered(reports)
    measures = [m for m in MEASURES if m[0] != "quality" or any(_has_quality(report) for report in found)]
    rows: list[list[str | Cell]] = []
    breaks = []
    for report in found:
        breaks.append(len(rows))
        for run in _controlled(report):
            first = title_of(report) if len(rows) == breaks[-1] else ""
            known = _published_error(report, run)
            plain = run is report.plain
            better = "" if plain else f"{report.wins(run)}/{len(report.seeds)}"
            line: list[str | Cell] = [first, report.label(run), Cell(report.median(run, "error"))]
            line += ["" if known is None else Cell(known)] if published else []
            line += [better, "" if plain else _p(report.p_value(run))]
            rows.append([*line, *(Cell(report.median(run, name), digits) for name, _, digits in measures)])
    paper = ["paper"] if published else []
    header = [["", "training", "error", *paper, "better", "p", *(title for _, title, _ in measures)]]
    notes = [
        "Medians over seeds. Better: seeds with a lower error than vanilla; p: the corrected paired t-test of that. "
        "Rate, ELBO and log p (importance weighted) are nats per row."
    ]
    return Table("Reconstruction, and what it costs", header, rows, notes, 2, breaks)


def equal_rate(reports: Reports, *, published: bool = True) -> Table:
    """The chosen method beside plain training at the same rate, where KL weights let us know it.

    Args:
        reports: Of any tables and models.
        published: Changes nothing: the paper has no such numbers.
    """
    measures = (("error", "error", 3), ("log_likelihood", "log p", 1), ("hidden", "hidden cells", 3))
    rows: list[list[str | Cell]] = []
    for report in ordered(reports):
        run = report.best()
        if run is None:
            continue
        rate = report.median(run, "rate")
        reached = {True: "yes", False: "no", None: "-"}[report.reaches(rate)]
        line: list[str | Cell] = [title_of(report), report.label(run), Cell(rate, 1), reached]
        for name, _, digits in measures:
            line += [Cell(report.at_rate(name, rate), digits), Cell(report.median(run, name), digits)]
        rows.append(line)
    header = [
        ["", "", "", "", *(title for _, title, _ in measures for _ in range(2))],
        ["", "method", "rate", "reached", *["plain", "impartial"] * len(measures)],
    ]
    notes = [
        "Plain training over KL weights, interpolated at the rate of the impartial choice. Reached: whether it comes "
        "to that rate (within 3 %); if not, the nearest end of its curve stands here. One KL weight is no curve."
    ]
    return Table("At equal rate", header, rows, notes, 2)


def reached(report: Mapping[str, Any]) -> Table:
    """What one run came to: the table of its report alone."""
    if report["experiment"] == "table":
        return controls([report], published=False)
    objective = report["config"]["objective"]["name"]
    return coherence_by_objective([report], objective, data=report["data"]["name"], published=False)


def table2(reports: Reports, *, published: bool = True) -> Table:
    """Errors by type of likelihood over the heterogeneous tables: the mean of their medians."""
    found = [r for (data, _), r in _by_cell(reports).items() if data in HETEROGENEOUS and r.best() is not None]
    pairs = [_of_kind(found, kind) for kind in LIKELIHOODS]
    rows: list[list[str | Cell]] = [["vanilla", *(a for a, _ in pairs)], ["impartial", *(b for _, b in pairs)]]
    if published:
        paper = [TABLE2[kind] for kind in LIKELIHOODS]
        rows += [
            ["paper, vanilla", *(_score(a) for a, _ in paper)],
            ["paper, impartial", *(_score(b) for _, b in paper)],
        ]
    n = len({report.data["name"] for report in found})
    notes = [
        f"The mean over {len(found)} reports of {n} heterogeneous tables of medians over seeds. Bold: the lower."
    ]
    return Table("Errors by type of likelihood", [["", *LIKELIHOODS.values()]], rows, notes, 1, [2])


def table6(reports: Reports, *, published: bool = True) -> Table:
    """The tables: rows, columns, kinds."""
    found = {data: report for (data, _), report in _by_cell(reports).items()}
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
    found = _by_cell(reports)
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
    found = _by_cell(reports)
    rows: list[list[str | Cell]] = []
    for data, title in DATA.items():
        pairs = [_means(found.get((data, setting))) for setting in SETTINGS]
        pairs += [(_score(a, 2), _score(b, 2)) for a, b in (TABLE8[data, s] for s in SETTINGS)] if published else []
        rows += [[title, "vanilla", *(a for a, _ in pairs)], ["", "impartial", *(b for _, b in pairs)]]
    groups = [["", "", *["here"] * 4, *["paper"] * 4]] if published else []
    header = [*groups, ["Data set", "Method", *SETTINGS, *(SETTINGS if published else [])]]
    return Table("Test errors, mean ± standard deviation", header, rows, [BOLD], 2, range(0, len(rows), 2))


def overhead(reports: Reports, *, published: bool = True) -> Table:
    """What blocks cost in a step of training, beside the paper's inset.

    Args:
        reports: What ``benchmarks/mixture_overhead.py`` writes; the first one is shown.
        published: Whether to write the paper's hours beside our milliseconds.
    """
    report = next(iter(reports))
    paper = {" + ".join(goals) or "no blocks": (hours, blocks) for goals, hours, blocks in OVERHEAD}
    rows: list[list[str | Cell]] = []
    for name, entry in report["rows"].items():
        line: list[str | Cell] = [name, Cell(entry["ms"], 2), Cell(entry["ratio"], 2)]
        if published:
            hours, blocks = paper.get(name, (math.nan, "-"))
            line += [Cell(hours, 2), Cell(hours / OVERHEAD[0][1], 2), blocks]
        rows.append(line)
    header = [["Blocks", "ms a step", "ratio", *(["paper, hours", "ratio", "blocks"] if published else [])]]
    return Table(
        "Overhead of impartial training", header, rows, [f"On {report['hardware']}."] if "hardware" in report else []
    )


# ---------------------------------------------------------------- inside


def _tables(reports: Reports) -> list[TableReport]:
    return [TableReport(report) for report in reports if report["experiment"] == "table"]


def _by_cell(reports: Reports) -> dict[tuple[str, str], TableReport]:
    """The reports of the paper's data sets and settings; one for each."""
    found: dict[tuple[str, str], TableReport] = {}
    for report in _tables(reports):
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

    return sorted(_tables(reports), key=place)


def title_of(report: TableReport) -> str:
    name = report.data["name"]
    return f"{DATA.get(name, name)} {report.setting}"


def _score(score: Score, digits: int = 3) -> Cell:
    return Cell(score.mean, digits, score.bold, score.std)


def _medians(report: TableReport | None) -> tuple[Cell, Cell]:
    run = None if report is None else report.best()
    if report is None or run is None:
        return (MISSING if report is None else Cell(report.median(report.plain, "error"))), MISSING
    plain, ours = (report.median(r, "error") for r in (report.plain, run))
    return Cell(plain, bold=_worse(report, run)), Cell(ours, bold=report.significant(run))


def _means(report: TableReport | None) -> tuple[Cell, Cell]:
    if report is None:
        return MISSING, MISSING
    cells = [
        MISSING if run is None else Cell(report.mean(run, "error"), 3, False, report.std(run, "error"))
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
        paper = {key: (_score(a), _score(b)) for key, (a, b) in TABLE1.items()}
        text += f" In the paper: {_improved(list(paper.values()))}"
        text += f"; of the cells that are here, {_improved([paper[key] for key in pairs])}." if pairs else "."
    return text


def _improved(pairs: Sequence[tuple[Cell, Cell]]) -> str:
    lower = sum(ours.value < plain.value for plain, ours in pairs)
    return f"{lower} of {len(pairs)} cells, significantly in {sum(ours.bold for _, ours in pairs)}"


def _controlled(report: TableReport) -> list[Run]:
    chosen = [report.best(), report.best(restored=False)]
    return [*report.curve, *(run for run in chosen if run is not None)]


def _has_quality(report: TableReport) -> bool:
    return any(not math.isnan(report.median(run, "quality")) for run in _controlled(report))


def _published_error(report: TableReport, run: Run) -> float | None:
    """The paper's number for plain training and for the chosen method; it has no others."""
    pair: Pair | None = TABLE1.get((report.data["name"], report.setting))
    if pair is None:
        return None
    if run is report.plain:
        return pair[0].mean
    return pair[1].mean if run is report.best() else None


def _p(p: float) -> str:
    return "-" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _of_kind(reports: Sequence[TableReport], kind: str) -> tuple[Cell, Cell]:
    both = [(r.by_kind(r.plain), r.by_kind(r.chosen)) for r in reports]
    known = [(a[kind], b[kind]) for a, b in both if not math.isnan(a.get(kind, math.nan) + b.get(kind, math.nan))]
    if not known:
        return MISSING, MISSING
    plain, ours = (sum(side) / len(known) for side in zip(*known, strict=True))
    return Cell(plain, bold=plain < ours), Cell(ours, bold=ours < plain)


def _sizes(report: TableReport) -> list[float]:
    kinds = [kind if kind in GROUPS else "nominal" for kind in report.kinds]
    return [report.data["rows"], len(kinds), *(kinds.count(group) for group in GROUPS)]


def _chosen_label(report: TableReport | None) -> str:
    run = None if report is None else report.best()
    return "-" if report is None or run is None else report.short_label(run)
