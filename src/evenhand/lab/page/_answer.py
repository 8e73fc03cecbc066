"""The answer of the page of a table experiment, in words: who was trained on what, and what came of it."""
# ruff: noqa: RUF001  # signs as readers know them: − – ×

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

from ..figures import number
from ..results import ALPHA, SLACK, Run, TableReport, column_pairs, fair, tally
from ._parts import count, name
from ._verdict import too_few, unfair

PLAIN = Markup('<b class="plain">plain</b>')
IMPARTIAL = Markup('<b class="impartial">impartial</b>')
PLAIN_FIRST = Markup('<b class="plain">Plain</b>')  # at the start of a sentence
ARROW = Markup('<span class="plain">{}</span> → <span class="impartial">{}</span>')
NATS = " (a nat is a unit of information, 1.44 bits; a higher log p is better)"
IMPARTIAL_FIRST = Markup('<b class="impartial">Impartial</b>')


def heading(read: TableReport) -> Markup:
    """The title."""
    how = "plain and impartial" if read.best() else "plain training"
    return Markup("{} on <bdi>{}</bdi>, {}").format(read.setting, read.data["name"], how)


def lead(read: TableReport, chosen: Run | None) -> list[Markup]:
    """What came of it, and the honest comparison."""
    first = Markup("A variational autoencoder ({}) learnt {} of {}. ").format(
        read.setting, count(len(read.columns), "column"), count(read.data["train_rows"], "row")
    )
    few = [Markup("<strong>{}</strong>").format(warning)] if (warning := too_few(read)) else []
    if chosen is None:
        only = "{}{} training reaches a mean error of <b>{}</b>; no impartial method was tried."
        return [*few, Markup(only).format(first, PLAIN_FIRST, number(read.median(read.plain, "error")))]
    return [*few, first + _change_of_all(read, chosen), _honest(read, chosen)]


def _change_of_all(read: TableReport, chosen: Run) -> Markup:
    """Reconstruction, hidden cells and likelihood, plain and impartial."""
    plain, error = read.median(read.plain, "error"), read.median(chosen, "error")
    return Markup(
        "{} training adds up the gradients of all columns, {} training lets a method settle their conflicts first. "
        "From the one to the other the mean error of a column on test rows that the model sees {}{}; {}.{}{} "
        "Validation chose the method {} out of {}."
    ).format(
        PLAIN_FIRST, IMPARTIAL, _moves(plain, error), _change(plain, error), tally(column_pairs(read, chosen)),
        _chance(read, chosen), _hidden(read, chosen), name(chosen["method"]), len(read.impartial()),
    )  # fmt: skip


def _chance(read: TableReport, chosen: Run) -> str:
    """Whether the change of the error, up or down, is more than another split of the rows could make."""
    one_sided, n = read.p_value(chosen), len(read.seeds)
    p = 2 * min(one_sided, 1 - one_sided)
    if number(read.median(read.plain, "error")) == number(read.median(chosen, "error")):
        return ""  # what stays needs no reason
    if n < 2:
        return " With one seed nobody knows whether this is chance."
    if not math.isfinite(p):
        return ""
    if p >= ALPHA:
        return f" With {n} seeds this may be chance (two-sided p = {p_words(p)})."
    return f" This is more than chance at the level of {ALPHA:g} (two-sided p = {p_words(p)}, {n} seeds)."


def _honest(read: TableReport, chosen: Run) -> Markup:
    """The comparison at equal rate."""
    rate, own = read.median(chosen, "rate"), read.median(read.plain, "rate")
    error, (beat, inside) = read.median(chosen, "error"), plain_at_rate(read, chosen)
    spends = Markup(
        "Per row impartial training spends {} nats on the latent variables, plain training {}. This is the "
        "<i>rate</i>: how much the model keeps of a row in order to rebuild it. Who keeps more rebuilds better, and "
        "a smaller weight of the KL term, which is the price of a nat in training, has the same effect. "
    ).format(number(rate, 1), number(own, 1))
    if not math.isfinite(error + beat):
        why = ": it was run at one KL weight only" if len(read.curve) < 2 else ""
        return spends + Markup("How plain training would do at that rate is not known{}.").format(why)
    if inside:
        at = Markup(f"At the same rate{_by_weight(read, rate, own)} plain training has an error of <b>{{}}</b>")
    else:
        at = Markup(
            "No KL weight that was tried brings plain training to that rate; at the nearest its error is <b>{}</b>"
        )
    return spends + at.format(number(beat)) + _what_remains(read, error, beat)


def _what_remains(read: TableReport, error: float, beat: float) -> Markup:
    """Of the gain, at the same rate."""
    if error >= beat or number(error) == number(beat):
        return Markup(": <strong>that is as good as impartial training, or better.</strong>")
    before = read.median(read.plain, "error")  # a weaker KL can also make plain training worse
    gained = beat < before and number(beat) != number(before)
    text = ": of the gain, {} remains{}." if gained else ": impartial training is better by {}{}."
    return Markup(text).format(number(round(beat, 3) - round(error, 3)), _change(beat, error))  # as printed


def _by_weight(read: TableReport, rate: float, own: float) -> str:
    """How plain training comes to a rate: with a smaller KL weight, with a larger one, or as it is."""
    if SLACK * own <= rate <= own / SLACK:
        return ""
    points = read.points("error")
    place = sum(point[0] < rate for point in points)
    weights = [weight for _, _, weight in points[max(place - 1, 0) : place + 1]]  # on both sides
    if max(weights) <= 1:
        return ", reached with a smaller KL weight,"
    return ", reached with a larger KL weight," if min(weights) >= 1 else ""


def _hidden(read: TableReport, chosen: Run) -> Markup:
    """What became of hidden cells, and of the likelihood: a better memory is no better guess."""
    said = Markup("")
    for measure, digits, text, note in (
        ("hidden", 3, " On cells that are hidden from the model the mean error {}{}.", unfair(read)),
        ("log_likelihood", 1, " The log-likelihood of a test row, log p, {} nats{}.", NATS),
    ):
        before, after = read.median(read.plain, measure), read.median(chosen, measure)
        if math.isfinite(before + after):
            said += Markup(text).format(_moves(before, after, digits), note)
    return said


def _moves(before: float, after: float, digits: int = 3) -> Markup:
    """What a number does, as it is printed: "falls from 0.300 to 0.200", or "stays at 0.300"."""
    first, second = number(before, digits), number(after, digits)
    if first == second and math.isfinite(before + after):
        return Markup("stays at <b>{}</b>").format(first)
    verb = "falls" if after < before else "rises" if after > before else "goes"
    return Markup("{} from <b>{}</b> to <b>{}</b>").format(verb, first, second)


def plain_at_rate(read: TableReport, chosen: Run | None) -> tuple[float, bool]:
    """The error of plain training at the rate of the chosen f, NaN without a curve; and whether that comes so far."""
    if chosen is None:
        return math.nan, False
    rate = read.median(chosen, "rate")
    return read.at_rate("error", rate), bool(read.reaches(rate))


def tiles(read: TableReport, chosen: Run | None) -> list[dict[str, Any]]:
    """The numbers that count."""
    plain = read.median(read.plain, "error")
    if chosen is None:
        return [{"name": "Mean error, plain", "value": Markup('<span class="plain">{}</span>').format(number(plain))}]
    found = [
        {"name": title, "value": _arrow(read, chosen, measure, digits), "note": note}
        for measure, title, digits, note in (
            ("error", "Mean error", 3, "cells that the model sees, median over seeds"),
            ("hidden", "Mean error, hidden cells", 3, "a fair test" if fair(read) else "not hidden in training"),
            ("log_likelihood", "log p of a row", 1, "in nats; higher is better"),
        )
        if measure != "log_likelihood" or not read.is_panel
    ]
    counted = tally(column_pairs(read, chosen))
    worse = f"{counted.worse} worse, {counted.same} the same"
    n = counted.better + counted.worse + counted.same
    found.append({"name": "Columns that improve", "value": f"{counted.better} of {n}", "note": worse})
    return [*found, *_at_rate(read, chosen), _seeds(read, chosen)]


def _arrow(read: TableReport, chosen: Run, measure: str, digits: int = 3) -> Markup:
    before, after = read.median(read.plain, measure), read.median(chosen, measure)
    return ARROW.format(number(before, digits), number(after, digits))


def _at_rate(read: TableReport, chosen: Run) -> list[dict[str, Any]]:
    beat, inside = plain_at_rate(read, chosen)
    if not math.isfinite(beat):
        return []
    title = f"Mean error at {'the same' if inside else 'the nearest'} rate"
    rate = number(read.median(chosen, "rate"), 1)
    note = f"{rate} nats per row" if inside else "plain training comes no closer"
    value = ARROW.format(number(beat), number(read.median(chosen, "error")))
    return [{"name": title, "value": value, "note": note}]


def _seeds(read: TableReport, chosen: Run) -> dict[str, Any]:
    p = read.p_value(chosen)
    note = f"one-sided p = {p_words(p)}, corrected paired t-test" if math.isfinite(p) else "too few seeds for a test"
    return {"name": "Seeds in which it is better", "value": f"{read.wins(chosen)} of {len(read.seeds)}", "note": note}


def _change(before: float, after: float) -> str:
    """In %, of what can be seen in the numbers."""
    if not before or not math.isfinite(before + after) or number(before) == number(after):
        return ""
    share = 100 * (after - before) / before
    written = number(share, 0 if abs(share) >= 0.95 else 1)
    return "" if written == "0.0" else f" ({written}\u00a0%)"


def p_words(p: float) -> str:
    """A p value."""
    return "–" if not math.isfinite(p) else "0.0001 or less" if p < 0.0001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"
