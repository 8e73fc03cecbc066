"""What every report page is made of: tables that sort, words, and the settings of a run."""
# ruff: noqa: RUF001  # signs as readers know them: − – ×

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ._config import toml_text
from ._svg import number


@dataclass(frozen=True)
class Header:
    """The head of a column: whether it holds words, and whether numbers are sorted from the largest down at first."""

    title: str
    words: bool = False
    down: bool = False


@dataclass(frozen=True)
class Cell:
    """What is written in a cell, what it is sorted by, and its class."""

    text: str
    value: float | None = None
    class_: str = ""


@dataclass(frozen=True)
class Row:
    """A line of a table; the first cell names it."""

    cells: Sequence[Cell]
    class_: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Attributes:
        title: A few words, for the label of the box in which it scrolls.
        caption: What stands above it.
        columns: The heads.
        rows: The lines.
        by: Which column the lines are sorted by.
        sorted: And how.
        sortable: Whether readers may sort it.
    """

    title: str
    caption: str
    columns: Sequence[Header]
    rows: Sequence[Row]
    by: int = -1
    sorted: str = "ascending"
    sortable: bool = True


def numeric(x: float, digits: int = 3, class_: str = "") -> Cell:
    """A cell with a number; a dash where it is not known."""
    return Cell(number(x, digits), float(x) if math.isfinite(x) else None, class_)


def signed(x: float, digits: int = 3) -> Cell:
    """A cell with a gain: coloured, and with its sign."""
    if not math.isfinite(x):
        return numeric(x)
    written = number(x, digits)
    side = "better" if x > 0 else "worse" if x < 0 else ""
    return Cell(f"+{written}" if x > 0 else written, float(x), side)


def words(text: object, *, short: bool = False) -> Cell:
    """A cell with words."""
    return Cell(str(text), None, "words short" if short else "words")


def percent(share: float, digits: int = 0) -> str:
    """A share in %, "less than 1 %" where it would be rounded to nothing."""
    if not math.isfinite(share):
        return "–"
    return "less than 1\u00a0%" if not digits and 0 < share < 0.005 else f"{number(100 * share, digits)}\u00a0%"


def unknown_last(x: float) -> float:
    """What to sort a number by, from the smallest up."""
    return x if math.isfinite(x) else math.inf


def name(text: str) -> Markup:
    """A stranger's word within a sentence: it stands out, and its direction does not leak."""
    return Markup("<b><bdi>{}</bdi></b>").format(text)


def listed(names: Sequence[str], most: int = 8) -> Markup:
    """Names in a sentence: "a, b and c", or "a, b and 12 more"."""
    shown = [name(n) for n in names[:most]]
    if len(names) > most:
        shown.append(Markup("{} more").format(len(names) - most))
    return Markup(" and ").join([Markup(", ").join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def count(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 column", "12 columns"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def settings_of(report: Mapping[str, Any], more: Iterable[tuple[str, str]] = ()) -> dict[str, Any]:
    """What it takes to get the numbers again."""
    facts = [*more]
    if report.get("versions"):
        facts.append(("Versions", ", ".join(f"{key} {value}" for key, value in report["versions"].items())))
    seconds = report.get("seconds")
    if isinstance(seconds, Mapping):
        facts.append(("Time", ", ".join(f"{key} {duration(s)}" for key, s in seconds.items() if s is not None)))
    elif seconds is not None:
        facts.append(("Time", duration(float(seconds))))
    facts += [(title, str(report[key])) for title, key in (("Hardware", "hardware"), ("Finished", "finished"))
              if report.get(key)]  # fmt: skip
    return {
        "title": report["name"],
        "command": report.get("command", ""),
        "facts": facts,
        "config": toml_text(report["config"]),
    }


def duration(seconds: float) -> str:
    """Seconds as readers say them."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
