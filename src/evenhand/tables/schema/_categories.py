"""Guesses for columns of text and of declared categories."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cells import Cells
from ..written import hint
from ._column import Category, Column
from ._kinds import Kind
from ._words import ADVICE, Unsuitable, show

MOST_CATEGORIES = 200
MANY_VALUES, MANY_SHARE = 20, 0.9  # text that may be ids: more values than this, in more than this part of the rows
LONG_TEXT = 40  # text that may be sentences: more characters than this on average


def guess_categories(name: str, data: Cells) -> Column:
    """A column of text or of declared categories."""
    found, n = levels_of(data), int(data.observed.sum())
    if len(found) > MOST_CATEGORIES or (data.sort == "text" and len(found) > max(MANY_VALUES, MANY_SHARE * n)):
        numbers = hint(data)
        what = f", {numbers}" if numbers else ", which look like ids or free text"
        raise Unsuitable(f"has {len(found)} categories in {n} cells{what}; {ADVICE}")
    if data.sort == "text" and len(found) > MANY_VALUES:
        _check_no_sentences(data.seen, len(found))
    if len(found) == 2:
        return Column(name, Kind.BINARY, found, reason=_pair(data, found))
    if data.ordered:
        return Column(name, Kind.ORDINAL, found, reason=f"{len(found)} categories, declared as ordered.")
    what = "declared categories" if data.sort == "category" else "different texts"
    return Column(name, Kind.CATEGORICAL, found, reason=f"{len(found)} {what}.{_doubts(data, found)}")


def _pair(data: Cells, pair: tuple[Category, ...]) -> str:
    others = sorted(set(data.seen.tolist()) - set(pair)) if data.sort == "text" else []
    also = f", in capitals or not ({', '.join(map(show, others))})" if others else ""
    return f"Two categories, {show(pair[0])} and {show(pair[1])}{also}."


def _doubts(data: Cells, found: tuple[Category, ...]) -> str:
    """What may be meant by texts, if there is a sign of it."""
    if data.sort != "text":
        return ""
    numbers, n = hint(data), len({str(level).casefold() for level in found})
    said = f" {numbers[:1].upper()}{numbers[1:]}." if numbers else ""
    return said + (f" Only {n} if capitals do not count: write them alike if they are meant so." * (n < len(found)))


def _check_no_sentences(seen: NDArray[Any], n_levels: int) -> None:
    length = sum(len(text) for text in seen) / len(seen)
    if length > LONG_TEXT:
        raise Unsuitable(
            f"has {n_levels} different texts of {length:.0f} characters on average, which look like free text; "
            f"{ADVICE}"
        )


def levels_of(data: Cells) -> tuple[Category, ...]:
    """All categories: those declared, or else those seen, sorted."""
    if data.sort == "mixed":
        raise ValueError(_mixture(data))
    if data.sort == "boolean":
        return (False, True)
    if data.sort == "category":
        return levels(data.categories)
    seen = sorted(set(data.seen.tolist()))
    pair = _in_capitals_or_not(data) if data.sort == "text" and len(seen) > 2 else []
    return levels(pair or seen)


def _in_capitals_or_not(data: Cells) -> list[str]:
    """Two texts as most cells write them, where all others differ from these in capitals only; else nothing."""
    spelt: dict[str, str] = {}
    for text, _ in sorted(Counter(data.seen.tolist()).items(), key=lambda item: (-item[1], item[0])):
        spelt.setdefault(text.casefold(), text)
    return sorted(spelt.values()) if len(spelt) == 2 else []


def levels(values: Any) -> tuple[Category, ...]:
    """Plain values; whole numbers as integers, because a missing cell turns integers into floating point."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    return tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in plain)


def _mixture(data: Cells) -> str:
    types = ", ".join(sorted({type(value).__name__ for value in data.seen}))
    words = Counter(value for value in data.seen if isinstance(value, str)).most_common(1)
    return (
        f"mixes values of type {types}; convert it to one type, or declare it real: words such as {words[0][0]!r} "
        "then count as missing"
    )
