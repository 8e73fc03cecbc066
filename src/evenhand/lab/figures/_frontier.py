"""Errors of numbers against errors of categories at one rate: what weighted sums can reach, and where every f is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ._svg import element, image, line, number, path, scale_of, text, tick


@dataclass(frozen=True)
class Rival:
    """A training at the rate of all: its name, its errors, and its class: "curve", "weights", "other" or "chosen"."""

    name: str
    numbers: float
    categories: float
    class_: str


def frontier(rivals: Sequence[Rival], label: str, *, width: float) -> Markup:
    """A point for every training; those of the class "curve", in their order, are joined by a line.

    Args:
        rivals: The trainings.
        label: The alternative text.
        width: In pixels.
    """
    known = [r for r in rivals if math.isfinite(r.numbers + r.categories)]
    height, left, right, top = 300.0, 44.0, width - 16, 22.0
    x = scale_of([r.numbers for r in known], left, right, n=4)
    y = scale_of([r.categories for r in known], height - 44, top)
    parts = [line(left, y(t), right, y(t), "grid") for t in y.ticks()]
    parts += [text(left - 8, y(t) + 4, tick(t), "tick", "end") for t in y.ticks()]
    parts += [text(x(t), height - 24, tick(t), "tick", "middle") for t in x.ticks(4)]
    parts += [line(left, y.start, right, y.start, "axis")]
    parts += [text(left - 36, 11, "↑ error of categories", "tick")]
    parts += [text(right, height - 5, "error of numbers →", "tick", "end")]
    curve = [(x(r.numbers), y(r.categories)) for r in known if r.class_ == "curve"]
    parts += [path(curve, "line plain")] if len(curve) > 1 else []
    points = [_point(r, x(r.numbers), y(r.categories)) for r in known]
    return image(width, height, label, *parts, element("g", *points, class_="points"), role="group")


def _point(rival: Rival, px: float, py: float) -> Markup:
    words = f"{rival.name}: numbers {number(rival.numbers)}, categories {number(rival.categories)}"
    if rival.class_ in ("curve", "weights"):
        shape = element("rect", x=px - 4, y=py - 4, width=8, height=8, class_="shape")
    else:
        shape = element("circle", cx=px, cy=py, r=7 if "chosen" in rival.class_ else 5, class_="shape")
    class_ = "curve" if rival.class_ == "weights" else rival.class_
    return element("g", element("title", words), shape, class_=f"point {class_}", role="img", aria_label=words)
