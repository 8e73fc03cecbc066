"""Numbers and dates that stand in a column as text, perhaps with a few words among them."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from .cells import LARGEST_WHOLE, Cells, days

NEARLY, NEARLY_FEW = 0.95, 0.99  # the share of cells that must be numbers before the words among them are missing
FEW = 20  # different numbers: up to here they may be labels, and the larger share is asked for
HALF = 0.5  # from this share on it is said how many are numbers
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
WHOLE, CODE = r"[+-]?[0-9]+", r"0[0-9]+"
CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
ISO = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{CLOCK}{ZONE}?)?"

What = Literal["numbers", "dates"]


def reading_of(data: Cells) -> What | None:
    """What a column of text holds; None if it holds texts.

    Dates, if all are written as 2024-01-31, perhaps with a time. Numbers, if there are words among them in at most
    5 % of the cells (1 % if there are few different numbers, which may be labels), or fractions in text. Whole
    numbers without a word among them stay text: whoever makes text of them means labels.
    """
    if data.sort not in ("text", "mixed") or not data.observed.any():
        return None
    counts = Counter(data.seen.tolist())
    if _share(counts, _is_date) >= NEARLY:
        return "dates" if parsed(data, "dates")[0].observed.sum() >= NEARLY * counts.total() else None
    share = _share(counts, _is_number)
    numbers = {value for value in counts if _is_number(value)}
    few = data.sort == "text" and len(numbers) <= FEW
    if share < (NEARLY_FEW if few else NEARLY) or _are_codes(numbers):
        return None
    labels = few or all(_matches(WHOLE, value) for value in numbers)
    return None if share == 1 and labels else "numbers"


def parsed(data: Cells, what: What) -> tuple[Cells, list[str]]:
    """The cells as numbers or days; words among them are missing, and listed, the most frequent first."""
    read = _number if what == "numbers" else _day_reader(data)
    counts = Counter(data.seen.tolist())
    known = {value: read(value) for value in counts}
    values = np.full(len(data.observed), np.nan)
    values[data.observed] = [known[value] for value in data.seen.tolist()]
    words = [str(value) for value, _ in counts.most_common() if math.isnan(known[value])]
    return Cells("number" if what == "numbers" else "time", values, ~np.isnan(values)), words


def told(n: int, of: int, what: str, words: Sequence[str]) -> str:
    """Which words were not read, in a sentence without its end."""
    shown = ", ".join(map(repr, words[:3])) + (f" and {len(words) - 3} more" if len(words) > 3 else "")
    verb = "is not" if len(words) == 1 else "are not"
    return f"{n:,} of {of:,} cells are {what}; {shown} {verb}: treated as missing"


def hint(data: Cells) -> str:
    """What to say of a column of text that holds numbers, too many to be by chance; empty otherwise."""
    if data.sort != "text":
        return ""
    counts = Counter(data.seen.tolist())
    if _share(counts, _is_number) < HALF:
        return ""
    found, words = parsed(data, "numbers")
    if not words:
        return "all of them numbers written as text: declared real, they are read as numbers"
    n, of = int(found.observed.sum()), int(data.observed.sum())
    return f"{n:,} of {of:,} cells are numbers: declared real, others such as {words[0]!r} count as missing"


def _share(counts: Counter[Any], holds: Callable[[Any], bool]) -> float:
    return sum(n for value, n in counts.items() if holds(value)) / counts.total()


def _matches(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value.strip()) is not None


def _is_number(value: Any) -> bool:
    return not isinstance(value, str) or _matches(NUMBER, value)


def _is_date(value: Any) -> bool:
    return _matches(ISO, value)


def _are_codes(numbers: set[Any]) -> bool:
    """Whether texts are written with zeros in front, or are whole numbers that double precision lacks."""
    whole = all(_matches(WHOLE, value) for value in numbers)
    return any(_matches(CODE, v) or (whole and abs(int(v)) >= LARGEST_WHOLE) for v in numbers if isinstance(v, str))


def _number(value: Any) -> float:
    number = float(value) if _is_number(value) else math.nan
    return number if math.isfinite(number) else math.nan  # 1e999 is none


def _day_reader(data: Cells) -> Callable[[Any], float]:
    """What reads a date. Times with and without a zone cannot be compared: those that are fewer are no dates."""
    texts = [value for value in set(data.seen.tolist()) if _is_date(value)]
    zoned = [_matches(rf".*:.*{ZONE}", text) for text in texts]
    wanted = sum(zoned) > len(texts) / 2

    def read(value: Any) -> float:
        if not _is_date(value) or _matches(rf".*:.*{ZONE}", value) != wanted:
            return math.nan
        try:
            return days(datetime.datetime.fromisoformat(value.strip()))
        except ValueError:  # the 30th of February
            return math.nan

    return read
