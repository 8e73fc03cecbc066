"""Columns of text to numbers: decimal signs, thousands, signs of currencies and percent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cells import LARGEST_WHOLE
from ..written import CODE, NUMBER, WHOLE

POINT = rf"{NUMBER}|[+-]?(?i:inf|infinity)"
COMMA = POINT.replace(r"\.", ",")
BLANKS, APOSTROPHES = " \u00a0\u202f", "'\u2019"
GROUPED = rf"[+-]?[0-9]{{1,3}}(?:[.,{APOSTROPHES}{BLANKS}][0-9]{{3}})+(?:[.,][0-9]+)?"
GROUPED_BY_POINTS = r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})*"
SEPARATORS = {",": ".", ".": ",", **dict.fromkeys(APOSTROPHES + BLANKS, ".,")}  # of thousands, and of decimals then
SIGNS, BLANK = "[$€£¥%]", f"[{BLANKS}]?"
NO_SIGN = r"[^$€£¥%\s]+(?: [^$€£¥%\s]+)*"
SIGNED = rf"[+-]?[$€£¥]{BLANK}{NO_SIGN}|{NO_SIGN}{BLANK}{SIGNS}"

Cells = Any  # a pandas Series of text
Result = tuple[Cells, str]


def numbers(cells: Cells, decimal_comma: bool, european: bool) -> Result:
    """Numbers, if all cells are, perhaps with one sign; and what completes "Column 'x' ...", if anything was done.

    Args:
        cells: Texts, some of them missing.
        decimal_comma: Whether a comma may be a decimal sign. It is none where commas separate the cells.
        european: Whether some column of the file has decimal commas, so that points may separate thousands.
    """
    plain, sign = _without_sign(cells)
    seen = plain.dropna()
    comma, separators = _marks(seen, decimal_comma)
    if comma:
        plain = plain.str.replace(",", ".", regex=False)
    elif separators:
        plain = plain.str.replace(separators[0], "", regex=False).str.replace(separators[1], ".", regex=False)
    elif _is_unclear(seen, european):
        example = seen[~seen.str.fullmatch(WHOLE)].iloc[0]
        return cells, (
            f"stays text: whether {example!r} has a decimal sign or separates thousands cannot be told; write "
            "numbers like 1234.5"
        )
    elif not all_match(seen, POINT):
        return cells, ""
    elif not sign and seen.str.fullmatch(CODE).any():
        example = seen[seen.str.fullmatch(CODE)].iloc[0]
        return cells, f"stays text: its numbers are written like codes, with zeros in front, as in {example!r}"
    made = _as_numbers(plain)
    if made is None:
        return cells, f"stays text: its whole numbers reach 2**53, as those of ids do, and {seen.iloc[0]!r} is one"
    with_comma = " with a decimal comma" if comma else f" with {_spoken(separators[0])}" if separators else ""
    without = f" without {sign!r}" if sign else ""
    if not with_comma and not sign:
        return made, ""
    place = _example(seen, separators)
    shown = f": {cells[place]!r} is {made[place]}" if sign or separators else ""
    return made, f"was read as numbers{with_comma}{without}{shown}"


@dataclass(frozen=True)
class Notation:
    """How the numbers of a column are written: what stands before and after them, and the sign of decimals."""

    before: str
    after: str
    decimal: str
    places: int  # decimals that all numbers have; 0 if they differ
    grouped: bool  # whether some thousands are separated; exponents are not read then

    def spell(self, value: Any) -> str:
        """A number as others of the column are written, without separators of thousands."""
        if not isinstance(value, float | np.floating):
            digits = str(int(value))
        elif not self.grouped and "e" in repr(float(value)):
            digits = repr(float(value))
        else:
            digits = np.format_float_positional(value, min_digits=max(1, self.places))
        minus = "-" if digits.startswith("-") else ""
        return f"{minus}{self.before}{digits.removeprefix('-').replace('.', self.decimal)}{self.after}"


def notation(seen: Cells, decimal_comma: bool, european: bool) -> Notation:
    """How numbers that `numbers` has read are written, there or elsewhere in the file."""
    usual = "," if european else "."
    if seen.empty:
        return Notation("", "", usual, 0, grouped=False)
    plain, sign = _without_sign(seen)
    comma, separators = _marks(plain, decimal_comma)
    around = re.fullmatch(rf"[+-]?([$€£¥]{BLANK})?.*?({BLANK}{SIGNS})?", seen.iloc[0]) if sign else None
    before, after = ("", "") if around is None else (part or "" for part in around.groups())
    whole = all_match(plain, WHOLE)
    decimal = "," if comma else separators[1] if separators else usual if whole else "."
    places = plain.str.rpartition(decimal)[2].str.len().where(plain.str.contains(decimal, regex=False), 0)
    same = int(places.iloc[0]) if places.nunique() == 1 else 0
    return Notation(before, after, decimal, same, grouped=separators is not None)


def _marks(seen: Cells, decimal_comma: bool) -> tuple[bool, tuple[str, str] | None]:
    """Whether numbers without a sign have a decimal comma; if not, what separates thousands and decimals."""
    comma = decimal_comma and has_decimal_comma(seen)
    return comma, None if comma else thousands(seen)


def thousands(seen: Cells) -> tuple[str, str] | None:
    """What separates thousands and decimals, if the column leaves no doubt: two groups, or a group and decimals."""
    for separator, decimals in SEPARATORS.items():
        if not seen.str.contains(separator, regex=False).any():
            continue
        group = rf"{re.escape(separator)}[0-9]{{3}}"
        for decimal in decimals:
            part = rf"{re.escape(decimal)}[0-9]+"
            proof = rf"[+-]?[1-9][0-9]{{0,2}}(?:(?:{group}){{2,}}(?:{part})?|{group}{part})"
            number = rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:{group})+|[0-9]+)(?:{part})?"
            if all_match(seen, number) and seen.str.fullmatch(proof).any():
                return separator, decimal
    return None


def _spoken(separator: str) -> str:
    return f"thousands separated by {'blanks' if separator in BLANKS else repr(separator)}"


def _example(seen: Cells, separators: tuple[str, str] | None) -> Any:
    """The place of a cell that shows what was done."""
    return seen.index[seen.str.contains(separators[0], regex=False)][0] if separators else seen.index[0]


def _without_sign(cells: Cells) -> tuple[Cells, str]:
    seen = cells.dropna()
    if not all_match(seen, SIGNED):
        return cells, ""
    signs = seen.str.extract(rf"({SIGNS})")[0].unique()
    plain = cells.str.replace(rf"{BLANK}{SIGNS}{BLANK}", "", regex=True)
    return (plain, str(signs[0])) if len(signs) == 1 else (cells, "")


def has_decimal_comma(seen: Cells) -> bool:
    """Whether all are numbers, some of them with a decimal comma."""
    plain = _without_sign(seen)[0]
    return bool(plain.str.contains(",", regex=False).any()) and all_match(plain, COMMA)


def _is_unclear(seen: Cells, european: bool) -> bool:
    if european and seen.str.contains(".", regex=False).any() and all_match(seen, GROUPED_BY_POINTS):
        return True
    return not all_match(seen, POINT) and all_match(seen, f"{GROUPED}|{POINT}|{COMMA}")


def _as_numbers(plain: Cells) -> Cells | None:
    """Integers where all are whole, so that they are written as such again; None if double precision lacks some."""
    found = plain.astype("float64")
    if not all_match(plain.dropna(), WHOLE):
        return found
    if np.abs(found).max() >= LARGEST_WHOLE:
        return None
    return found.astype("Int64" if found.isna().any() else "int64")


def all_match(seen: Cells, pattern: str) -> bool:
    """Whether all cells are written like this."""
    # the first cells decide quickly that a column is none of these
    return bool(seen.head(100).str.fullmatch(pattern).all() and seen.str.fullmatch(pattern).all())
