"""What every report page is made of: words, counts, and the settings of a run."""
# ruff: noqa: RUF001  # signs as readers know them: − – ×

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from .._config import toml_text
from ..figures import number


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
