"""Columns of text to numbers, dates and booleans, with a sentence for every rule that is applied."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..written import CLOCK, FEW, HALF, ISO, NEARLY, NEARLY_FEW, ZONE, told
from ._numerals import COMMA, GROUPED, POINT, SIGNED, Cells, Result, all_match, has_decimal_comma, numbers

if TYPE_CHECKING:
    import pandas

MARKERS = (
    *("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT"),
    *("NULL", "Null", "null", "None", "?", "-", "."),
)
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
DAY_OR_MONTH = r"([0-9]{1,2})[./-]([0-9]{1,2})[./-][0-9]{4}"
NO_WORD = rf"{SIGNED}|{POINT}|{COMMA}|{GROUPED}|{ISO}|{DAY_OR_MONTH}(?: {CLOCK})?"


def convert(
    frame: pandas.DataFrame, *, decimal_comma: bool, missing: Sequence[str] = ()
) -> tuple[pandas.DataFrame, list[str]]:
    """Convert what is more than text.

    Args:
        frame: Columns of text, without missing cells.
        decimal_comma: Whether numbers may have one. They cannot where commas separate the cells.
        missing: Words that stand for missing cells, beside the usual ones.

    Returns:
        The frame with missing cells, numbers, booleans and dates, and what was done, in sentences.
    """
    frame, notes = _stripped(frame)
    frame, marked = _with_missing(frame, missing)
    european = decimal_comma and any(has_decimal_comma(frame[name].dropna()) for name in frame)
    columns = {}
    for name in frame:
        cells = frame[name]
        columns[name], note = _converted(cells, decimal_comma, european)
        if not note and columns[name] is cells:
            columns[name], note = _without_words(cells, decimal_comma, european)
        marked += [f"Column {name!r} {note}."] if note else []
    return type(frame)(columns), [*notes, *marked]


def _stripped(frame: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str]]:
    stripped = frame.apply(lambda cells: cells.str.strip())
    where = (stripped != frame).sum()
    if not where.any():
        return frame, []
    return stripped, [f"Blanks around {_cells(where)} were stripped."]


def _with_missing(frame: pandas.DataFrame, words: Sequence[str]) -> tuple[pandas.DataFrame, list[str]]:
    notes, missing = [], frame == ""
    # beside a plus, a minus is a sign of its own
    with_plus = (frame == "+").any()
    for marker in dict.fromkeys((*MARKERS, *(word.strip() for word in words))):
        cells = frame == marker
        if marker == "-" and marker not in words:
            cells &= ~with_plus
        missing |= cells
        if cells.any(axis=None):
            notes.append(f"{marker!r} was taken as missing in {_cells(cells.sum())}.")
    return frame.mask(missing), notes


def _cells(counts: Cells) -> str:
    """How many cells, and of which columns, in words."""
    names = [repr(name) for name in counts.index[counts > 0]]
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    total = int(counts.sum())
    return f"{total:,} cell{'s' if total > 1 else ''} ({shown})"


def _converted(cells: Cells, decimal_comma: bool, european: bool) -> Result:
    """The column, and what completes "Column 'x' ...", if anything was done."""
    seen = cells.dropna()
    if seen.empty:
        return cells, ""
    if seen.isin((*TRUE, *FALSE)).all():
        return _booleans(cells), "was read as true or false"
    if all_match(seen, ISO):
        return _iso_dates(cells, seen)
    if all_match(seen, rf"{DAY_OR_MONTH}(?: {CLOCK})?"):
        return _other_dates(cells, seen)
    return numbers(cells, decimal_comma, european)


def _without_words(cells: Cells, decimal_comma: bool, european: bool) -> Result:
    """Numbers or dates with a few words among them, which are taken as missing."""
    seen = cells.dropna()
    if seen.head(200).str.fullmatch(NO_WORD).mean() < HALF:  # the first cells decide quickly that it is text
        return cells, ""
    words = seen[~seen.str.fullmatch(NO_WORD)]
    n, of = len(seen) - len(words), len(seen)
    few = len(seen.drop(words.index).unique()) <= FEW
    if not len(words) or n < (NEARLY_FEW if few else NEARLY) * of:
        return cells, ""
    rest = cells.drop(words.index).reindex(cells.index)
    made, note = _converted(rest, decimal_comma, european)
    if made is rest:
        return cells, ""
    what = "dates" if note.startswith("was read as dates") else "numbers"
    return made, f"{note or 'was read as numbers'}: {told(n, of, what, list(words.value_counts().index))}"


def _booleans(cells: Cells) -> Cells:
    truth = cells.isin(TRUE)
    return truth.astype("boolean").mask(cells.isna()) if cells.isna().any() else truth


def _iso_dates(cells: Cells, seen: Cells) -> Result:
    import pandas

    zoned = seen.str.fullmatch(rf".*:.*{ZONE}")
    if zoned.any() and not zoned.all():
        return cells, "stays text: some of its times have a time zone and others have none"
    what = "dates" if seen.str.len().max() == 10 else "dates and times"
    made = pandas.to_datetime(cells, format="ISO8601", errors="coerce", utc=bool(zoned.any()))
    return _if_dates(made, cells, f"was read as {what}{', in UTC' if zoned.any() else ''}")


def _other_dates(cells: Cells, seen: Cells) -> Result:
    import pandas

    first, second = _largest(seen)
    if (first > 12) == (second > 12):
        either = "either can be the month" if first <= 12 else "both are beyond 12 somewhere"
        return cells, (
            f"stays text: which number is the day in dates such as {seen.iloc[0]!r} cannot be told, {either}; "
            "write dates as 2024-01-31"
        )
    plain = cells.str.replace(r"[./]", "-", regex=True)
    order, leader = ("%d-%m-%Y", "day") if first > 12 else ("%m-%d-%Y", "month")
    made = pandas.to_datetime(plain, format=order, errors="coerce")
    for time in (" %H:%M", " %H:%M:%S", " %H:%M:%S.%f"):
        made = made.fillna(pandas.to_datetime(plain, format=order + time, errors="coerce"))
    return _if_dates(made, cells, f"was read as dates, {leader} first, as in {seen.iloc[0]!r}")


def _largest(seen: Cells) -> tuple[int, int]:
    """The largest of the first and of the second numbers of dates such as 31.01.2024."""
    first, second = (seen.str.extract(rf"^{DAY_OR_MONTH}")[i].astype("int64").max() for i in (0, 1))
    return first, second


def date_notation(seen: Cells) -> Callable[[Any], str]:
    """What spells a date as others of the column, which was read as dates, are written."""
    example, clocks = seen.iloc[0], bool(seen.str.contains(":", regex=False).any())
    if re.fullmatch(ISO, example):
        day, between, zone = "%Y-%m-%d", example[10:11] or "T", "Z" if example.endswith("Z") else "+00:00"
    else:
        between, sign = " ", re.sub("[0-9]", "", example)[0]
        day, zone = sign.join(("%d", "%m", "%Y") if _largest(seen)[0] > 12 else ("%m", "%d", "%Y")), ""

    def spell(value: Any) -> str:
        clock = value.time().isoformat()
        if not clocks and clock == "00:00:00":
            return str(value.strftime(day))
        return f"{value.strftime(day)}{between}{clock}{zone if value.tzinfo else ''}"

    return spell


def _if_dates(made: Cells, cells: Cells, note: str) -> Result:
    wrong = cells[made.isna() & cells.notna()]
    if len(wrong):
        return cells, f"stays text: it looks like dates, but {wrong.iloc[0]!r} is none"
    return made, note
