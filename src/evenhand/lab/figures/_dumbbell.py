"""Errors of columns before and after: a ring, a dot, and a line between them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from ..results import ColumnErrors
from ._svg import NARROW, Scale, element, image, line, number, scale_of, shorten, text, text_width, tick


def dumbbell(pairs: Sequence[ColumnErrors], label: str, *, width: float = 760) -> Markup:
    """Errors of every column: a ring for plain training, a dot for impartial training, a tick for the trivial guess.

    Args:
        pairs: In the order in which they are shown.
        label: The alternative text.
        width: In pixels; a narrow chart has the names above the lines.
    """
    narrow = width < NARROW
    height = 40 if narrow else 26 if len(pairs) <= 30 else 21
    longest = max((text_width(p.name) for p in pairs), default=0.0)
    left, right = (8.0, width - 8) if narrow else (min(width * 0.3, longest + 24), width - 70)
    x = scale_of([v for p in pairs for v in (0.0, p.trivial, p.plain, p.impartial)], left, right)
    top, bottom = 26.0, 26.0 + height * len(pairs)
    parts = [line(x(t), top, x(t), bottom, "grid") for t in x.ticks()]
    parts += [text(x(t), top - 10, tick(t), "tick", "middle") for t in x.ticks()]
    if not narrow and any(math.isfinite(p.gain) for p in pairs):
        parts.append(text(width - 4, top - 10, "gain", "tick", "end"))
    for i, pair in enumerate(pairs):
        y = top + height * (i + (0.72 if narrow else 0.5))
        parts.append(_dumbbell_row(pair, x, y, width, narrow))
    return image(width, bottom + 8, label, *parts, class_=f"chart {'narrow' if narrow else 'wide'}")


def _dumbbell_row(pair: ColumnErrors, x: Scale, y: float, width: float, narrow: bool) -> Markup:
    words = (
        f"{pair.name}: plain {number(pair.plain)}, impartial {number(pair.impartial)}, trivial {number(pair.trivial)}"
    )
    parts = [element("title", words)]
    if narrow:
        parts.append(text(x.start, y - 11, shorten(pair.name, width - 90), "name"))
    else:
        parts.append(text(x.start - 14, y + 4, shorten(pair.name, x.start - 20), "name", "end"))
    if math.isfinite(pair.gain):
        side = "gain" if pair.gain >= 0 else "loss"
        gain = ("+" if pair.gain > 0 else "") + number(pair.gain)
        parts.append(text(width - 4, y - 11 if narrow else y + 4, gain, f"value {side}", "end"))
        parts.append(line(x(pair.plain), y, x(pair.impartial), y, f"bar {side}"))
    if math.isfinite(pair.trivial):
        parts.append(line(x(pair.trivial), y - 7, x(pair.trivial), y + 7, "trivial"))
    for value, class_, r in ((pair.plain, "ring plain", 4.5), (pair.impartial, "dot impartial", 5.5)):
        if math.isfinite(value):
            parts.append(element("circle", cx=x(value), cy=y, r=r, class_=class_))
    return element("g", *parts, class_="row")
