"""Other families than the paper's held at one rate: what is left of a gain when nobody keeps more of a row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...common import wanted_rate
from ...impartial import method_label
from ._order import Reports, ordered, title_of
from ._relevant import Note, Report, holds_rates
from ._reports import OF_COLUMNS, Run, TableReport, read_reports
from ._statistics import ALPHA
from ._table import UNKNOWN, Cell, Table

# Of a panel, and of single rows, whose hidden cells are guessed through z.
MEASURES = {
    True: ("error", "hidden_through_z", "hidden"),
    False: ("error", "hidden", ""),
}
TITLES = ("reconstruction", "hidden, through z", "hidden, best guess")


def read_families(
    name: str, places: Sequence[Path], note: Note, *, experiment: str, any_network: bool
) -> list[Report]:
    """Reports with runs held at a rate, of tables and of panels; the arguments are those of `read_experiments`."""
    found = [r for r in read_reports(*places) if r["experiment"] in OF_COLUMNS and holds_rates(r)]
    if not found:
        raise FileNotFoundError(
            f"There should be finished runs for {name} in {', '.join(map(str, places))}. Found none. To run them on "
            "a table or a panel: evenhand run CONFIG.toml 'runs.kl_weights=[\"rate:3\"]'"
        )
    return found


def families_at_rate(reports: Reports, *, published: bool = True) -> Table:
    """Plain training beside the impartial method that validation chose, both held at the same rate.

    Args:
        reports: Of tables and panels with runs that were held at rates.
        published: Changes nothing: the paper has no such numbers.
    """
    rows: list[list[str | Cell]] = []
    for report in ordered(reports):
        rate, chosen = wanted_rate(report.reference), report.best()
        if rate is not None and chosen is not None:
            rows.append(_line(report, rate, chosen))
    header = [
        ["", "", "", "rate", "rate", *(title for title in TITLES for _ in range(3))],
        ["", "held at", "method", "plain", "impartial", *["plain", "impartial", "better"] * len(TITLES)],
    ]
    notes = [
        "Means and deviations over seeds, on test rows; the rate is in nats per row, measured there. The method is "
        "the one with the lowest error on validation rows (of seen and of hidden cells) of all that were held at "
        "that rate. Better: seeds in which impartial training has the lower error; bold: lower, "
        f"p < {ALPHA:g} in the corrected paired t-test, two-sided."
    ]
    return Table("Plain and impartial training held at the same rate", header, rows, notes, 3)


def _line(report: TableReport, rate: float, chosen: Run) -> list[str | Cell]:
    line: list[str | Cell] = [title_of(report), f"{rate:g}", method_label(chosen["method"])]
    line += [Cell(report.mean(run, "rate"), 2, std=report.std(run, "rate")) for run in (report.plain, chosen)]
    for measure in MEASURES[report.is_panel]:
        line += _pair(report, chosen, measure) if measure else [UNKNOWN, UNKNOWN, ""]
    return line


def _pair(report: TableReport, chosen: Run, measure: str) -> list[str | Cell]:
    """Both errors, the clearly lower one in bold, and in how many seeds the second is lower."""
    plain, clear = report.plain, report.p_value(chosen, measure, alternative="two-sided") < ALPHA
    means = [report.mean(run, measure) for run in (plain, chosen)]
    cells: list[Any] = [
        Cell(mean, 4, bold=clear and mean == min(means), std=report.std(run, measure))
        for mean, run in zip(means, (plain, chosen), strict=True)
    ]
    wins = int((report.values(chosen, measure) < report.values(plain, measure)).sum())
    return [*cells, f"{wins}/{len(report.seeds)}"]
