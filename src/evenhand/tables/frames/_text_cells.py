"""Columns of text to numbers, dates and booleans, with a sentence for every rule that is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..cells import LARGEST_WHOLE

if TYPE_CHECKING:
    import pandas

MARKERS = (
    *("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT"),
    *("NULL", "Null", "null", "None", "?", "-", "."),
)
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
WHOLE = r"[+-]?[0-9]+"
CODE = r"0[0-9]+"
POINT = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))"
COMMA = POINT.replace(r"\.", ",")
GROUPED = r"[+-]?[0-9]{1,3}(?:[., '\u2019][0-9]{3})+(?:[.,][0-9]+)?"
GROUPED_BY_POINTS = r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})*"
SIGNS, BLANK = "[$€£¥%]", "[ \u00a0\u202f]?"
SIGNED = rf"[+-]?[$€£¥]{BLANK}[^$€£¥%\s]+|[^$€£¥%\s]+{BLANK}{SIGNS}"
CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
ISO = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{CLOCK}{ZONE}?)?"
DAY_OR_MONTH = r"([0-9]{1,2})[./-]([0-9]{1,2})[./-][0-9]{4}"

Cells = Any  # a pandas Series of text
Result = tuple[Cells, str]


def convert(frame: pandas.DataFrame, *, decimal_comma: bool) -> tuple[pandas.DataFrame, list[str]]:
    """Convert what is more than text.

    Args:
        frame: Columns of text, without missing cells.
        decimal_comma: Whether numbers may have one. They cannot where commas separate the cells.

    Returns:
        The frame with missing cells, numbers, booleans and dates, and what was done, in sentences.
    """
    frame, notes = _stripped(frame)
    frame, marked = _with_missing(frame)
    european = decimal_comma and any(_has_decimal_comma(frame[name].dropna()) for name in frame)
    columns = {}
    for name in frame:
        columns[name], note = _converted(frame[name], decimal_comma, european)
        marked += [f"Column {name!r} {note}."] if note else []
    return type(frame)(columns), [*notes, *marked]


def _stripped(frame: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str]]:
    stripped = frame.apply(lambda cells: cells.str.strip())
    where = (stripped != frame).sum()
    if not where.any():
        return frame, []
    return stripped, [f"Blanks around {_cells(where)} were stripped."]


def _with_missing(frame: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str]]:
    notes, missing = [], frame == ""
    # beside a plus, a minus is a sign of its own
    with_plus = (frame == "+").any()
    for marker in MARKERS:
        cells = frame == marker
        if marker == "-":
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
    if _all(seen, ISO):
        return _iso_dates(cells, seen)
    if _all(seen, rf"{DAY_OR_MONTH}(?: {CLOCK})?"):
        return _other_dates(cells, seen)
    return _numbers(cells, decimal_comma, european)


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

    first, second = (seen.str.extract(rf"^{DAY_OR_MONTH}")[i].astype("int64").max() for i in (0, 1))
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


def _if_dates(made: Cells, cells: Cells, note: str) -> Result:
    wrong = cells[made.isna() & cells.notna()]
    if len(wrong):
        return cells, f"stays text: it looks like dates, but {wrong.iloc[0]!r} is none"
    return made, note


def _numbers(cells: Cells, decimal_comma: bool, european: bool) -> Result:
    """Numbers, if all cells are; perhaps with one sign of a currency or percent."""
    plain, sign = _without_sign(cells)
    seen = plain.dropna()
    comma = decimal_comma and _has_decimal_comma(seen)
    if comma:
        plain = plain.str.replace(",", ".", regex=False)
    elif _is_unclear(seen, european):
        example = seen[~seen.str.fullmatch(WHOLE)].iloc[0]
        return cells, (
            f"stays text: whether {example!r} has a decimal sign or separates thousands cannot be told; write "
            "numbers like 1234.5"
        )
    elif not _all(seen, POINT):
        return cells, ""
    elif not sign and seen.str.fullmatch(CODE).any():
        example = seen[seen.str.fullmatch(CODE)].iloc[0]
        return cells, f"stays text: its numbers are written like codes, with zeros in front, as in {example!r}"
    made = _as_numbers(plain)
    if made is None:
        return cells, f"stays text: its whole numbers reach 2**53, as those of ids do, and {seen.iloc[0]!r} is one"
    signed = f" without {sign!r}: {cells.dropna().iloc[0]!r} is {made.dropna().iloc[0]}" if sign else ""
    with_comma = " with a decimal comma" if comma else ""
    return made, f"was read as numbers{with_comma}{signed}" if signed or with_comma else ""


def _without_sign(cells: Cells) -> tuple[Cells, str]:
    seen = cells.dropna()
    if not _all(seen, SIGNED):
        return cells, ""
    signs = seen.str.extract(rf"({SIGNS})")[0].unique()
    plain = cells.str.replace(rf"{BLANK}{SIGNS}{BLANK}", "", regex=True)
    return (plain, str(signs[0])) if len(signs) == 1 else (cells, "")


def _has_decimal_comma(seen: Cells) -> bool:
    plain = _without_sign(seen)[0]
    return bool(plain.str.contains(",", regex=False).any()) and _all(plain, COMMA)


def _is_unclear(seen: Cells, european: bool) -> bool:
    if european and seen.str.contains(".", regex=False).any() and _all(seen, GROUPED_BY_POINTS):
        return True
    return not _all(seen, POINT) and _all(seen, f"{GROUPED}|{POINT}|{COMMA}")


def _as_numbers(plain: Cells) -> Cells | None:
    """Integers where all are whole, so that they are written as such again; None if double precision lacks some."""
    numbers = plain.astype("float64")
    if not _all(plain.dropna(), WHOLE):
        return numbers
    if np.abs(numbers).max() >= LARGEST_WHOLE:
        return None
    return numbers.astype("Int64" if numbers.isna().any() else "int64")


def _all(seen: Cells, pattern: str) -> bool:
    # the first cells decide quickly that a column is none of these
    return bool(seen.head(100).str.fullmatch(pattern).all() and seen.str.fullmatch(pattern).all())
