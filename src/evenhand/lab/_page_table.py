"""What the page of a table experiment says, in words and tables."""
# ruff: noqa: RUF001  # signs as readers know them: − – ×

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from ..impartial import method_label
from ..tables.schema import Kind, Schema
from ._charts import Pair, Point, dumbbell, rate_distortion
from ._page_answer import (
    IMPARTIAL,
    IMPARTIAL_FIRST,
    PLAIN,
    PLAIN_FIRST,
    column_pairs,
    heading,
    lead,
    medians,
    p_words,
    page_label,
    plain_at_rate,
    tiles,
)
from ._page_conflicts import conflicts, dominance
from ._page_parts import (
    Cell,
    Header,
    Row,
    Table,
    count,
    listed,
    name,
    numeric,
    percent,
    settings_of,
    signed,
    unknown_last,
    words,
)
from ._pairplot import pair_plot
from ._results import Run, TableReport
from ._svg import number

WIDTHS = {"wide": 760, "narrow": 343}  # of charts, in pixels
MOST_PAIRED = 4
CHOICE = ("Method", "KL weight", "Restored", "Validation", "Test, median", "Mean ± sd", "Better in", "p", "Rate",
          "ELBO", "log\u00a0p", "Hidden")  # fmt: skip
LARGEST_FIRST = ("Better in", "ELBO", "log\u00a0p")


def table_context(report: Mapping[str, Any], samples: Mapping[str, ArrayLike] | None) -> dict[str, Any]:
    """Everything that the template of a table report asks for."""
    read = TableReport(report)
    chosen = read.best()
    columns = _columns(read, chosen)
    order = [row.name for row in columns["pairs"]]
    return {
        "title": f"{read.name}: plain and impartial training",
        "heading": heading(read),
        "lead": lead(read, chosen),
        "tiles": tiles(read, chosen),
        "impartial": chosen is not None,
        "columns": columns,
        "kinds": _kinds(read, chosen),
        "neglect": [*_neglect(read, chosen), *dominance(read)],
        "conflicts": conflicts(read),
        "rate": _rate(read, chosen),
        "pairs": _pairs(report, samples, order),
        "choice": _choice(read, chosen),
        "data": _data(read),
        "settings": settings_of(report, [("Seeds", ", ".join(map(str, read.seeds)))]),
    }


# Columns and kinds


def _columns(read: TableReport, chosen: Run | None) -> dict[str, Any]:
    pairs = column_pairs(read, chosen)
    n, kinds = len(pairs), dict(zip(read.columns, read.kinds, strict=True))
    hidden = [dict(zip(read.columns, medians(run.get("hidden_columns"), n).tolist(), strict=True))
              for run in (read.plain, chosen) if run is not None]  # fmt: skip
    rows = []
    for p in pairs:
        cells = [words(p.name), words(kinds[p.name], short=True), numeric(p.trivial), numeric(p.plain)]
        if chosen is not None:
            relative = 100 * p.gain / p.plain if p.plain else math.nan
            cells += [numeric(p.impartial), signed(p.gain), signed(relative, 0)]
        rows.append(Row([*cells, *(numeric(h[p.name]) for h in hidden)]))
    titles = ["Trivial", "Plain", "Impartial", "Gain", "Gain, %", "Hidden, plain", "Hidden, impartial"]
    if chosen is None:
        titles = ["Trivial", "Plain", "Hidden"]
    heads = [Header("Column", words=True), Header("Kind", words=True)]
    heads += [Header(title, down="Gain" in title) for title in titles]
    caption = (
        "Errors of all columns, median over seeds. Hidden: of cells that the encoder did not see. "
        "Trivial: guessing the mean or mode, first seed."
    )
    table = Table("errors of all columns", caption, heads, rows, 5 if chosen else -1, "descending")
    label = f"Errors of {count(n, 'column')}, plain and impartial. The table below has the numbers."
    charts = {kind: dumbbell(pairs, label, width=w) for kind, w in WIDTHS.items()}
    heading = "Column by column" if chosen is not None else "Errors of all columns"
    return {"heading": heading, "words": _column_words(pairs), "pairs": pairs, "table": table, **charts}


def _column_words(pairs: Sequence[Pair]) -> Markup:
    known = [p for p in pairs if math.isfinite(p.gain)]
    if not known:
        return Markup("Only {} training was measured.").format(PLAIN)
    best, worst = known[0], known[-1]
    text = Markup("")
    if best.gain > 0 and number(best.plain) != number(best.impartial):
        text = Markup("{} gains most: its error goes from {} to {}. ").format(
            name(best.name), number(best.plain), number(best.impartial)
        )
    losers = [p.name for p in known if p.gain < 0 and number(p.plain) != number(p.impartial)]
    if not losers:
        return text + Markup("No column pays for it.")
    loss = Markup("{} {}; {} loses most, from {} to {}.")
    return text + loss.format(
        count(len(losers), "column"), "gets worse" if len(losers) == 1 else "get worse",
        name(worst.name), number(worst.plain), number(worst.impartial),
    )  # fmt: skip


def _kinds(read: TableReport, chosen: Run | None) -> dict[str, Any]:
    groups = ["nominal" if Kind(kind).nominal else kind for kind in read.kinds]
    trivial = {p.name: p.trivial for p in column_pairs(read, chosen)}
    plain, impartial = read.by_kind(read.plain), read.by_kind(chosen) if chosen else {}
    pairs = []
    for kind in plain:
        guesses = [trivial[c] for c, g in zip(read.columns, groups, strict=True) if g == kind]
        guess = float(np.mean(guesses)) if np.isfinite(guesses).all() else math.nan
        pairs.append(Pair(kind, guess, plain[kind], impartial.get(kind, math.nan)))
    rows = []
    for p in pairs:
        cells = [words(p.name), numeric(groups.count(p.name), 0), numeric(p.trivial), numeric(p.plain)]
        rows.append(Row([*cells, *([numeric(p.impartial), signed(p.gain)] if chosen else [])]))
    titles = ["Columns", "Trivial", "Plain", *(["Impartial", "Gain"] if chosen else [])]
    heads = [Header("Kind", words=True), *(Header(title, down=title in ("Columns", "Gain")) for title in titles)]
    caption = "Mean error of the columns of a kind, median over seeds. Trivial: of the first seed."
    table = Table("errors by kind", caption, heads, rows)
    label = "Errors by kind of column, plain and impartial. The table below has the numbers."
    charts = {kind: dumbbell(pairs, label, width=w) for kind, w in WIDTHS.items()}
    said = "Nominal columns are binary, categorical and ordinal ones." if "nominal" in plain else ""
    return {"words": f"Errors of columns of the same likelihood, taken together. {said}", "table": table, **charts}


def _neglect(read: TableReport, chosen: Run | None) -> list[Markup]:
    found = []
    for run, label in ((read.plain, PLAIN_FIRST), (chosen, IMPARTIAL_FIRST)):
        if run is None:
            continue
        names = read.neglected(run)
        if names:
            text = "{} training neglects {} of {}: {}."
            said = Markup(text).format(label, len(names), count(len(read.columns), "column"), listed(names))
        else:
            said = Markup("{} training neglects no column.").format(label)
        found.append(said)
    rule = (
        "A column is neglected if its error (median over seeds) is above 98 % of what guessing its mean or mode "
        "gives (first seed). "
    )
    return [Markup(rule) + Markup(" ").join(found)]


# Rate


def _rate(read: TableReport, chosen: Run | None) -> dict[str, Any]:
    curve = [
        _point(read, run, "curve", f"{'' if i else 'KL '}× {run['kl_weight']:g}") for i, run in enumerate(read.curve)
    ]
    others = [_point(read, run, "other" if run["restored"] else "other unrestored")
              for run in read.runs if run["method"] != "sum" and run is not chosen]  # fmt: skip
    if chosen is not None:
        others.append(_point(read, chosen, "chosen", page_label(chosen)))
    beat, _ = plain_at_rate(read, chosen)
    label = (
        f"Mean error against rate: plain training at {count(len(curve), 'KL weight')}, and {len(others)} more runs."
    )
    charts = {kind: rate_distortion(curve, others, label, beat=beat, width=w)
              for kind, w in WIDTHS.items()}  # fmt: skip
    rows = [
        Row([words(p.label), numeric(p.rate, 2), numeric(p.error, 4)], _row_class(p.class_))
        for p in (*curve, *others)
    ]
    heads = [Header("Training", words=True), Header("Rate, nats"), Header("Mean error")]
    table = Table("rate and error", "Median over seeds.", heads, rows)
    beyond = " A triangle at the right edge has a rate beyond it." if ' beyond"' in charts["wide"] else ""
    said = Markup(
        "A model that stores more nats per row in its latent variables can reconstruct better, whatever its "
        "gradients do, and a smaller KL weight buys nats. So plain training at several KL weights is the curve to "
        "beat: an <i>f</i> below it gets more out of the same rate."
    )
    unrestored = any(not run["restored"] for run in read.runs)
    return {"words": said, "table": table, "beyond": beyond, "unrestored": unrestored, **charts}


def _point(read: TableReport, run: Run, class_: str, mark: str = "") -> Point:
    return Point(page_label(run), read.median(run, "rate"), read.median(run, "error"), class_, mark)


def _row_class(class_: str) -> str:
    return "chosen" if "chosen" in class_ else "base" if "curve" in class_ else ""


# Rows


def _pairs(
    report: Mapping[str, Any], samples: Mapping[str, ArrayLike] | None, order: Sequence[str]
) -> dict[str, Any] | None:
    """The pair plot of the columns with the largest gain; None if nothing was generated."""
    if not samples or "generated" not in report or "real" not in samples:
        return None
    schema = Schema.from_toml(report["schema"])
    labels = [label for label in report["generated"]["labels"] if label in samples]
    shown = list(order[:MOST_PAIRED])
    numbers = [n for n in order if schema[n].kind.numeric]
    if numbers and not any(n in shown for n in numbers):
        shown[-1] = numbers[0]
    label = f"Pair plots of {', '.join(shown)}: real rows, and rows generated after {' and '.join(labels)} training."
    chart = pair_plot(samples["real"], {k: samples[k] for k in labels}, schema, shown, label=label, standalone=False)
    notes = ["Shown are the columns with the largest gain."] if len(order) > len(shown) else []
    notes += _quality(report, labels)
    notes += ["Dates are days since 1 January 1970."] if any(schema[n].unit for n in shown) else []
    said = Markup("{} real rows of the test set, and as many that each model made up: {}, {}. {}").format(
        f"{len(np.asarray(samples['real'])):,}", Markup('<b class="real">real</b>'),
        Markup(", ").join({"plain": PLAIN, "impartial": IMPARTIAL}.get(k, Markup.escape(k)) for k in labels),
        " ".join(notes),
    )  # fmt: skip
    return {"words": said, "chart": Markup(chart)}


def _quality(report: Mapping[str, Any], labels: Sequence[str]) -> list[str]:
    """How alike generated and real rows are, in a sentence."""
    runs = zip(report["generated"]["labels"], report["generated"]["runs"], strict=True)
    known = {label: (report["runs"][i].get("quality") or [None])[0] for label, i in runs}
    said = [f"{known[label]:.3f} ({label})" for label in labels if known.get(label) is not None]
    if not said:
        return []
    return [
        f"The shapes of columns and of pairs of columns agree with the real ones to {' and '.join(said)}; 1 is best."
    ]


# The choice of f


def _choice(read: TableReport, chosen: Run | None) -> dict[str, Any]:
    rows = sorted(read.runs, key=lambda run: unknown_last(read.mean(run, "validation")))
    heads = [Header(title, words=title in ("Method", "Restored"), down=title in LARGEST_FIRST) for title in CHOICE]
    table = Table(
        "all choices of f",
        "Sorted by validation error, which decides. Better in: seeds with a lower test error than plain training; "
        "p: corrected paired t-test against plain training, one-sided; rate, ELBO and log p in nats per row.",
        heads, [_choice_row(read, run, chosen) for run in rows], 3,
    )  # fmt: skip
    said = Markup("Everything was trained with {}. ").format(count(len(read.seeds), "seed"))
    if chosen is not None:
        said += Markup(
            "Chosen is the one with the lowest mean validation error, among those with norm restoration: {}."
        ).format(name(page_label(chosen)))
    return {"words": said, "table": table}


def _choice_row(read: TableReport, run: Run, chosen: Run | None) -> Row:
    mean, sd, base = read.mean(run, "error"), read.std(run, "error"), run is read.plain
    spread = number(mean) + (f" ± {number(sd)}" if math.isfinite(sd) else "")
    p = math.nan if base else read.p_value(run)
    label = "plain" if run["method"] == "sum" else method_label(run["method"])
    cells = [words(label + (" — chosen" if run is chosen else "")), Cell(f"{run['kl_weight']:g}", run["kl_weight"])]
    cells += [words("yes" if run["restored"] else "no", short=True), numeric(read.mean(run, "validation"))]
    cells += [numeric(read.median(run, "error")), Cell(spread, mean if math.isfinite(mean) else None)]
    cells += [Cell("–") if base else Cell(f"{read.wins(run)} of {len(read.seeds)}", read.wins(run))]
    cells += [Cell(p_words(p).replace("0.0001 or less", "≤ 0.0001"), p if math.isfinite(p) else None)]
    cells += [numeric(read.median(run, measure), 2) for measure in ("rate", "elbo", "log_likelihood")]
    cells += [numeric(read.median(run, "hidden"))]
    return Row(cells, "chosen" if run is chosen else "base" if base else "")


# Data


def _data(read: TableReport) -> dict[str, Any]:
    data, missing = read.data, read.data.get("missing")
    chosen_by = data["rows"] - data["train_rows"] - data["test_rows"]
    said = Markup("{} has {} and {}; {} rows were trained on, {} validated on and {} tested on. {}").format(
        name(data["name"]), count(data["rows"], "row"), count(len(read.columns), "column"),
        f"{data['train_rows']:,}", f"{chosen_by:,}", f"{data['test_rows']:,}",
        f"{percent(missing, 1)} of the cells are missing." if missing else "No cell is missing.",
    )  # fmt: skip
    reasons = data.get("reasons") or [""] * len(read.columns)
    rows = [Row([words(c), words(k, short=True), words(r)])
            for c, k, r in zip(read.columns, read.kinds, reasons, strict=True)]  # fmt: skip
    heads = [Header("Column", words=True), Header("Kind", words=True), Header("Why this kind", words=True)]
    ignored = [Row([words(c), words(reason)]) for c, reason in data.get("ignored", {}).items()]
    return {
        "words": [said, *([data["note"]] if data.get("note") else [])],
        "table": Table("columns and kinds", "All columns that were learnt.", heads, rows),
        "ignored": Table("ignored columns", "Columns that were left out.", [heads[0], Header("Why", words=True)],
                         ignored, sortable=False) if ignored else None,
        "conversions": data.get("conversions", []),
    }  # fmt: skip
