"""Error against rate: the curve of plain training, and every f."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from ._svg import (
    NARROW,
    LogScale,
    Scale,
    element,
    image,
    line,
    log_scale_of,
    number,
    path,
    scale_of,
    text,
    text_width,
    tick,
)


@dataclass(frozen=True)
class Point:
    """A choice of f, or plain training at a KL weight, in the plane of rate and error."""

    label: str
    rate: float
    error: float
    class_: str  # "curve", "other" or "chosen", and "unrestored"
    mark: str = ""  # what is written beside it at all times

    @property
    def words(self) -> str:
        """All about it."""
        return f"{self.label}: error {number(self.error)}, rate {number(self.rate, 1)} nats"


def rate_distortion(
    curve: Sequence[Point],
    others: Sequence[Point],
    label: str,
    *,
    beat: float = math.nan,
    width: float = 760,
    logarithmic: bool = False,
) -> Markup:
    """Error against rate: plain training at several KL weights as a line, every f as a point.

    Points far to the right of everything that matters stand on the edge, as triangles.

    Args:
        curve: Plain training.
        others: Every f; the chosen one last, with the class "chosen".
        label: The alternative text.
        beat: The error of plain training at the rate of the chosen f.
        width: In pixels.
        logarithmic: Whether errors stand on a logarithmic scale, where some are many times larger than others.
    """
    curve = sorted((p for p in curve if math.isfinite(p.rate + p.error)), key=lambda p: p.rate)
    others = [p for p in others if math.isfinite(p.rate + p.error)]
    narrow = width < NARROW
    height, left, right, top = (340.0 if narrow else 430.0), 44.0, width - 16, 22.0
    chosen = [p for p in others if "chosen" in p.class_]
    x = scale_of([0.0, _reach(curve, others, chosen)], left, right, n=4 if narrow else 6)
    y = (log_scale_of if logarithmic else scale_of)([p.error for p in [*curve, *others]], height - 44, top)
    parts = [line(left, y(t), right, y(t), "grid") for t in y.ticks()]
    parts += [text(left - 8, y(t) + 4, tick(t), "tick", "end") for t in y.ticks()]
    parts += [text(x(t), height - 24, tick(t), "tick", "middle") for t in x.ticks(4 if narrow else 6)]
    parts += [line(left, y.start, right, y.start, "axis")]
    parts += [
        text(left - 36, 11, "↑ mean error", "tick"),
        text(right, height - 5, "rate, nats per row →", "tick", "end"),
    ]
    if len(curve) > 1:
        parts.append(path([(x(p.rate), y(p.error)) for p in curve], "line plain"))
    for best in chosen[:1]:
        if math.isfinite(beat):
            parts.append(line(x(best.rate), y(best.error), x(best.rate), y(beat), "versus"))
    drawn = [(_across(p, x, right), y(p.error)) for p in curve]
    marks = _marks([*curve, *others], x, y, (4.0, y.end - 8, right, y.start - 2), _along(drawn))
    points = [_point(p, x, y, right, marks.get(p)) for p in [*curve, *others]]
    return image(width, height, label, *parts, element("g", *points, class_="points"),
                 class_=f"chart {'narrow' if narrow else 'wide'}", role="group")  # fmt: skip


def _reach(curve: Sequence[Point], others: Sequence[Point], chosen: Sequence[Point]) -> float:
    """How far the axis of rates goes: to all that matters, and to most of the others."""
    rates = sorted(p.rate for p in others)
    usual = rates[int(0.85 * (len(rates) - 1))] if rates else 0.0
    return max([usual, *(p.rate for p in curve), *(1.05 * p.rate for p in chosen), 1e-6])


Box = tuple[float, float, float, float]  # left, top, right, bottom


def _marks(
    points: Sequence[Point], x: Scale, y: Scale | LogScale, within: Box, taken: Sequence[Box]
) -> dict[Point, Markup]:
    """What is written beside points at all times, the chosen one's first; where there is no room, nothing is.

    Args:
        points: All of them, those without a mark too: nothing is written over them.
        x: The scale of rates.
        y: The scale of errors.
        within: Where something can be written.
        taken: Where nothing is to be written.
    """
    spots = {p: (_across(p, x, within[2]), y(p.error)) for p in points}
    full = [*taken, *((px - 8, py - 8, px + 8, py + 8) for px, py in spots.values())]
    found: dict[Point, Markup] = {}
    for p in sorted((p for p in points if p.mark), key=lambda p: "chosen" not in p.class_):
        for at, base, anchor in _places(*spots[p], sideways="chosen" in p.class_):
            box = _box(p.mark, at, base, anchor)
            if _inside(box, within) and not any(_overlap(box, other) for other in full):
                full.append(box)
                found[p] = text(at, base, p.mark, "mark", anchor)
                break
    return found


def _places(px: float, py: float, *, sideways: bool) -> list[tuple[float, float, str]]:
    """Where a mark could stand, the best place first: left, base line and anchor."""
    beside = [(px + 12, py + 4, "start"), (px - 12, py + 4, "end")]
    corners = [(px + dx, py + dy, a) for dx, a in ((9, "start"), (-9, "end")) for dy in (-9, 18)]
    others = [(px, py - 12, "middle"), (px, py + 22, "middle"), *corners]
    return [*beside, *others] if sideways else [*others, *beside]


def _along(points: Sequence[tuple[float, float]]) -> list[Box]:
    """Small boxes along a line."""
    found = []
    for (x0, y0), (x1, y1) in pairwise(points):
        n = max(1, math.ceil(math.hypot(x1 - x0, y1 - y0) / 4))
        found += [(x0 + (x1 - x0) * k / n, y0 + (y1 - y0) * k / n) for k in range(n + 1)]
    return [(px - 1, py - 1, px + 1, py + 1) for px, py in found]


def _box(mark: str, at: float, base: float, anchor: str) -> Box:
    width = 1.1 * text_width(mark)  # some marks are bold
    left = at - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
    return left, base - 11, left + width, base + 3


def _inside(box: Box, within: Box) -> bool:
    return box[0] >= within[0] and box[1] >= within[1] and box[2] <= within[2] and box[3] <= within[3]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _across(point: Point, x: Scale, right: float) -> float:
    """Where a point is; one that is far to the right stands on the edge."""
    return right - 4 if point.rate > x.high else x(point.rate)


def _label(point: Point, px: float, py: float, right: float) -> Markup:
    """What is shown of a point that is looked at: beside it, in two lines, within the chart."""
    first, second = f"{point.label}", f"error {number(point.error)}, rate {number(point.rate, 1)} nats"
    width = max(text_width(first), text_width(second))
    x = px + 16 if px + 16 + width <= right else max(px - 16 - width, 2.0)
    return element(
        "text",
        element("tspan", first, x=x, class_="strong"),
        element("tspan", second, x=x, dy=15),
        y=py,
        class_="label",
    )


def _point(point: Point, x: Scale, y: Scale | LogScale, right: float, mark: Markup | None) -> Markup:
    beyond = point.rate > x.high
    px, py = _across(point, x, right), y(point.error)
    if beyond:
        shape = path([(px - 4, py - 5), (px + 5, py), (px - 4, py + 5)], "shape", closed=True)
    elif "curve" in point.class_:
        shape = element("rect", x=px - 4, y=py - 4, width=8, height=8, class_="shape")
    else:
        shape = element("circle", cx=px, cy=py, r=7 if "chosen" in point.class_ else 5, class_="shape")
    parts = [element("circle", cx=px, cy=py, r=13, class_="target"), shape, *([mark] if mark else [])]
    parts.append(_label(point, px, max(py - 10, y.end), right))
    return element(
        "g",
        *parts,
        class_=f"point {point.class_}{' beyond' if beyond else ''}",
        role="img",
        tabindex=0,
        aria_label=point.words,
    )
