"""The answer of the page of a table experiment, in words: who was trained on what, and what came of it."""
# ruff: noqa: RUF001  # signs as readers know them: − – ×

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

from ..figures import number
from ..results import ALPHA, SLACK, Run, TableReport, column_pairs, run_label
from ._parts import count, name

PLAIN = Markup('<b class="plain">plain</b>')
IMPARTIAL = Markup('<b class="impartial">impartial</b>')
PLAIN_FIRST = Markup('<b class="plain">Plain</b>')  # at the start of a sentence
IMPARTIAL_FIRST = Markup('<b class="impartial">Impartial</b>')


def heading(read: TableReport) -> Markup:
    """The title."""
    how = "plain and impartial" if read.best() else "plain training"
    return Markup("{} on <bdi>{}</bdi>, {}").format(read.setting, read.data["name"], how)


def lead(read: TableReport, chosen: Run | None) -> list[Markup]:
    """What came of it, and the honest comparison."""
    plain, data = read.median(read.plain, "error"), read.data
    first = Markup("A {} learnt {} of {}. ").format(
        read.setting, count(len(read.columns), "column"), count(data["train_rows"], "row")
    )
    if chosen is None:
        only = "{}{} training reaches a mean error of <b>{}</b>; no impartial <i>f</i> was tried."
        return [Markup(only).format(first, PLAIN_FIRST, number(plain))]
    error, pairs = read.median(chosen, "error"), column_pairs(read, chosen)
    better = sum(pair.gain > 0 for pair in pairs)
    change = Markup(
        "{}From {} to {} training the mean error of a column on test rows {}{}; "
        "{} of {} improve.{} Validation chose {} out of {} of <i>f</i>."
    ).format(
        first, PLAIN, IMPARTIAL, _moves(plain, error), _change(plain, error), better, count(len(pairs), "column"),
        _chance(read, chosen), name(run_label(chosen)), count(len(read.impartial()), "choice"),
    )  # fmt: skip
    return [change, _honest(read, chosen)]


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
    spends = Markup("Per row it spends {} nats on the latent variables, plain training {}. ").format(
        number(rate, 1), number(own, 1)
    )
    if not math.isfinite(error + beat):
        why = ": it was run at one KL weight only" if len(read.curve) < 2 else ""
        unknown = Markup("How plain training would do at that rate is not known{}.").format(why)
        return spends + unknown + _hidden(read, chosen)
    if inside:
        at = Markup(f"At the same rate{_by_weight(read, rate, own)} plain training has an error of <b>{{}}</b>")
    else:
        at = Markup(
            "No KL weight that was tried brings plain training to that rate; at the nearest its error is <b>{}</b>"
        )
    if error < beat and number(error) != number(beat):
        before = read.median(read.plain, "error")  # a weaker KL can also make plain training worse
        gained = beat < before and number(beat) != number(before)
        text = ": of the gain, {} remains{}." if gained else ": impartial training is better by {}{}."
        end = Markup(text).format(number(round(beat, 3) - round(error, 3)), _change(beat, error))  # as printed
    else:
        end = Markup(": <strong>that is as good as impartial training, or better.</strong>")
    return spends + at.format(number(beat)) + end + _hidden(read, chosen)


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
    for measure, digits, text in (
        ("hidden", 3, " On cells that are hidden from the model the mean error {}."),
        ("log_likelihood", 1, " The log-likelihood of a test row {} nats."),
    ):
        before, after = read.median(read.plain, measure), read.median(chosen, measure)
        if math.isfinite(before + after):
            said += Markup(text).format(_moves(before, after, digits))
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
    error, rate = read.median(chosen, "error"), read.median(chosen, "rate")
    arrow = Markup('<span class="plain">{}</span> → <span class="impartial">{}</span>')
    pairs, p = column_pairs(read, chosen), read.p_value(chosen)
    found = [
        {"name": "Mean error", "value": arrow.format(number(plain), number(error)), "note": "median over seeds"},
        {"name": "Columns that improve", "value": f"{sum(q.gain > 0 for q in pairs)} of {len(pairs)}"},
    ]
    beat, inside = plain_at_rate(read, chosen)
    if math.isfinite(beat):
        title = f"Mean error at {'the same' if inside else 'the nearest'} rate"
        note = f"{number(rate, 1)} nats per row" if inside else "plain training comes no closer"
        found.append({"name": title, "value": arrow.format(number(beat), number(error)), "note": note})
    seeds = f"{read.wins(chosen)} of {len(read.seeds)}"
    note = f"one-sided p = {p_words(p)}, corrected paired t-test" if math.isfinite(p) else "too few seeds for a test"
    return [*found, {"name": "Seeds in which it is better", "value": seeds, "note": note}]


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
