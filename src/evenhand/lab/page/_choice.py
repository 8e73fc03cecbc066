"""The part of the page about the choice of a method (the paper's f): what each reached, at which rate."""
# signs as readers know them: − – ×

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from ...impartial import method_label
from ..figures import rate_distortion, rate_points
from ..results import UNKNOWN, Cell, Run, TableReport, fair, run_label, weight_text
from ._answer import p_words, plain_at_rate
from ._columns import WIDTHS
from ._html_table import Column, html_table
from ._parts import count, name, unknown_last

CHOICE = ("Method", "KL weight", "Restored", "Validation", "Test, median", "Mean ± sd", "Better in", "p", "Rate",
          "ELBO", "log\u00a0p", "Hidden")  # fmt: skip
LARGEST_FIRST = ("Better in", "ELBO", "log\u00a0p")


def rate_part(read: TableReport, chosen: Run | None) -> dict[str, Any]:
    """Error against rate, of every run."""
    curve, others = rate_points(read, chosen)
    beat, _ = plain_at_rate(read, chosen)
    label = (
        f"Mean error against rate: plain training at {count(len(curve), 'KL weight')}, and {len(others)} more runs."
    )
    charts = {kind: rate_distortion(curve, others, label, beat=beat, width=w)
              for kind, w in WIDTHS.items()}  # fmt: skip
    points = [*curve, *others]
    heads = [Column("Training", words=True), Column("Rate, nats"), Column("Mean error")]
    rows: list[list[str | Cell]] = [[p.label, Cell(p.rate, 2), Cell(p.error, 4)] for p in points]
    table = html_table("rate and error", "Median over seeds.", heads, rows, [_row_class(p.class_) for p in points])
    beyond = " A triangle at the right edge has a rate beyond it." if ' beyond"' in charts["wide"] else ""
    said = Markup(
        "The rate is how much a model keeps of a row in its latent variables, in nats (a nat is 1.44 bits). A model "
        "that keeps more can reconstruct better, whatever its gradients do, and a smaller KL weight buys nats. So "
        "plain training at several KL weights is the curve to beat: a method below it gets more out of the same rate."
    )
    unrestored = any(not run["restored"] for run in read.runs)
    return {"words": said, "table": table, "beyond": beyond, "unrestored": unrestored, **charts}


def _row_class(class_: str) -> str:
    return "chosen" if "chosen" in class_ else "base" if "curve" in class_ else ""


def choice_part(read: TableReport, chosen: Run | None) -> dict[str, Any]:
    """Every method, by validation error."""
    runs = sorted(read.runs, key=lambda run: unknown_last(read.mean(run, "validation")))
    heads = [_column(title) for title in CHOICE]
    classes = ["chosen" if run is chosen else "base" if run is read.plain else "" for run in runs]
    caption = (
        f"Sorted by validation error{_validation(read)}, which decides. Better in: seeds with a lower test error "
        "than plain training; "
        "p: corrected paired t-test against plain training, one-sided; rate, ELBO (a lower bound of log p) and log p "
        "in nats per row; hidden: error on hidden cells."
    )
    made = html_table("all methods", caption, heads, [_line(read, run, chosen) for run in runs], classes)
    said = Markup("Everything was trained with {}. ").format(count(len(read.seeds), "seed"))
    if chosen is not None:
        said += Markup(
            "Chosen is the one with the lowest mean validation error, among those with norm restoration: {}."
        ).format(name(run_label(chosen)))
    said += Markup(" Names in brackets are those that the option <code>--method</code> takes.")
    return {"words": said, "table": replace(made, by=3)}


def _validation(read: TableReport) -> str:
    return " (of seen and of hidden cells)" if fair(read) else ""


def _column(title: str) -> Column:
    words = title in ("Method", "Restored")
    return Column(title, words, short=title == "Restored", down=title in LARGEST_FIRST)


def _line(read: TableReport, run: Run, chosen: Run | None) -> list[str | Cell]:
    base = run is read.plain
    p = math.nan if base else read.p_value(run)
    label = "plain" if run["method"] == "sum" else method_label(run["method"])
    label += f" ({run['method']})"
    wins = UNKNOWN if base else Cell(read.wins(run), words=f"{read.wins(run)} of {len(read.seeds)}")
    return [
        label + (" — chosen" if run is chosen else ""),
        Cell(math.nan if isinstance(run["kl_weight"], str) else run["kl_weight"], words=weight_text(run)),
        "yes" if run["restored"] else "no",
        Cell(read.mean(run, "validation")),
        Cell(read.median(run, "error")),
        Cell(read.mean(run, "error"), std=read.std(run, "error")),
        wins,
        Cell(p, words=p_words(p).replace("0.0001 or less", "≤ 0.0001")),
        *(Cell(read.median(run, measure), 2) for measure in ("rate", "elbo", "log_likelihood")),
        Cell(read.median(run, "hidden")),
    ]
