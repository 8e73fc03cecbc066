"""The few things that SVG charts are made of: elements, scales, axes, and labels that fit.

Markup escapes by itself: what is not `Markup` is a stranger's text, and is escaped where it is put into an element.
"""
# ruff: noqa: RUF001  # signs as readers know them: − – ×

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from markupsafe import Markup, escape

FONT = 12  # pixels, as in chart.css
NARROW = 480  # pixels: below, a chart is for phones
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # changes the direction of what follows


def legal(text: str) -> str:
    """The text with everything replaced that HTML and XML cannot hold, such as control characters.

    So are characters that turn the direction of writing: a name with one could turn what stands beside it.
    """
    return _TURNING.sub("\ufffd", _ILLEGAL.sub("\ufffd", text))


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """An element. ``class_`` and ``stroke_width`` become ``class`` and ``stroke-width``; None is left out.

    Example:
        >>> print(element("text", "a < b", x=1.25, class_="name"))
        <text x="1.2" class="name">a &lt; b</text>
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{written}>{Markup().join(children)}</{tag}>")


def image(
    width: float,
    height: float,
    label: str,
    *children: str,
    class_: str = "chart",
    role: str = "img",
    standalone: bool = False,
) -> Markup:
    """An SVG image of a size, with its alternative text, for a page or as a file of its own."""
    size = {"viewBox": f"0 0 {width:g} {height:g}", "width": float(width), "height": float(height)}
    xmlns = "http://www.w3.org/2000/svg" if standalone else None
    return element("svg", *children, xmlns=xmlns, **size, role=role, aria_label=label, class_=class_)


def file(width: float, height: float, label: str, *children: str, role: str = "img") -> str:
    """An SVG image as a file of its own, which brings its colours along."""
    style = element("style", Markup(chart_css()))
    return legal(image(width, height, label, style, *children, role=role, standalone=True))


def chart_css() -> str:
    """The colours and lines of all charts, light and dark."""
    return resources.files(__package__).joinpath("chart.css").read_text(encoding="utf-8")


def text(x: float, y: float, content: str, class_: str = "", anchor: str = "start", **more: object) -> Markup:
    """A line of text; the anchor is "start", "middle" or "end"."""
    return element("text", content, x=x, y=y, class_=class_ or None, text_anchor=anchor, **more)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Iterable[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    """A line through points, or the area that it encloses."""
    steps = "L".join(f"{_value(x)} {_value(y)}" for x, y in points)
    return element("path", d=f"M{steps}{'Z' if closed else ''}", class_=class_)


@dataclass(frozen=True)
class Scale:
    """From numbers to pixels: ``low`` is at ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, x: float) -> float:
        share = (x - self.low) / (self.high - self.low)
        return self.start + min(max(share, -10.0), 11.0) * (self.end - self.start)

    def ticks(self, n: int = 5) -> list[float]:
        """About n round numbers from low to high."""
        step = _round_step((self.high - self.low) / n)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


@dataclass(frozen=True)
class LogScale:
    """From positive numbers to pixels by their logarithm: ``low`` is at ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, x: float) -> float:
        share = math.log(max(x, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, n: int = 5) -> list[float]:
        """Round numbers from low to high: powers of ten, with so many in between that there are about n."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
            found = [float(f"{step}e{power}") for power in powers for step in steps]
            found = [x for x in found if self.low <= x <= self.high]
            if len(found) >= n - 1:
                break
        return found


def log_scale_of(values: Iterable[float], start: float, end: float) -> LogScale:
    """A logarithmic scale for values, with a little room; what is not positive stands at its low end."""
    known = [x for x in values if math.isfinite(x) and x > 0] or [0.1, 1.0]
    return LogScale(min(known) / 1.1, max(known) * 1.1, start, end)


def scale_of(values: Iterable[float], start: float, end: float, *, n: int = 5) -> Scale:
    """A scale with round ends for values; from zero, unless they are all far from it."""
    known = [x for x in values if math.isfinite(x)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if 0 <= low < 0.6 * high:
        low = 0.0
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-9):
        low, high = (low - 0.5, high + 0.5) if high <= 0 else (0.0, 1.2 * high)
    step = _round_step((high - low) / n)
    return Scale(step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9), start, end)


def number(x: float, digits: int = 3) -> str:
    """A number for readers, with a true minus sign; a dash if it is not known.

    Example:
        >>> number(-0.12345), number(float("nan"))
        ('−0.123', '–')
    """
    if not math.isfinite(x):
        return "–"
    if digits and abs(x) >= 1e5:
        return f"{x:.1e}".replace("e+0", "e").replace("e+", "e").replace("-", "−")
    written = f"{x:,.{digits}f}"
    return written.removeprefix("-") if not float(written.replace(",", "")) else written.replace("-", "−")


def tick(x: float) -> str:
    """A number beside an axis, as short as can be."""
    if x and (abs(x) >= 1e4 or abs(x) < 1e-3):
        power = 3 * math.floor(math.log10(abs(x)) / 3)
        letter = {3: "k", 6: "M", 9: "G"}.get(power)
        return (f"{x / 10**power:.3g}{letter}" if letter else f"{x:.2g}").replace("-", "−")
    return f"{x:.4g}".replace("-", "−")


def text_width(content: str, size: float = FONT) -> float:
    """About how wide a text is, in pixels."""
    return size * sum(map(_advance, content))


def shorten(content: str, width: float, size: float = FONT) -> str:
    """The text in one line; of one that would be wider than this, the start and the end are kept.

    Example:
        >>> shorten("income of the household", 100)
        'income…sehold'
    """
    content = " ".join(content.split()) or "(no name)"
    if text_width(content, size) <= width:
        return content
    room = width - size  # the dots need some
    head = _fitting(content, room * 0.55, size)
    tail = _fitting(content[::-1], room * 0.45, size)[::-1]
    return f"{head.rstrip()}…{tail.lstrip()}"


def apart(places: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Places moved so that neighbours are at least that far apart, and as far as possible within bounds."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved, floor = list(places), low
    for i in order:
        moved[i] = floor = max(moved[i], floor)
        floor += least
    ceiling = max(high, low + least * (len(places) - 1))
    for i in reversed(order):
        moved[i] = ceiling = min(moved[i], ceiling)
        ceiling -= least
    return moved


# Inside


def _value(value: object) -> str:
    if isinstance(value, float):
        return "0" if not math.isfinite(value) else f"{value:.1f}".removesuffix(".0")
    return legal(str(value))


def _fitting(content: str, width: float, size: float) -> str:
    """As many characters as fit."""
    used = 0.0
    for i, character in enumerate(content):
        used += size * _advance(character)
        if used > width:
            return content[:i]
    return content


def _round_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    return power * next((m for m in (1, 2, 2.5, 5) if m * power >= raw * 0.999), 10)


def _advance(character: str) -> float:
    """The width of a character in a common sans-serif, as a share of its size."""
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.1
    if character in "iljftrI.,:;'|!()[] ":
        return 0.34
    return 0.86 if character in "mwMW@%—" else 0.7 if character.isupper() else 0.56
