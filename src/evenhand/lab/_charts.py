"""The charts of the report page, as SVG text. Colours are classes, which chart.css fills in light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ._svg import Scale, apart, element, image, line, number, path, scale_of, shorten, text, text_width, tick

NARROW = 480  # pixels: below, a chart is for phones


@dataclass(frozen=True)
class Pair:
    """A line of the dumbbell chart: errors of a column; NaN where there is none."""

    name: str
    trivial: float
    plain: float
    impartial: float

    @property
    def gain(self) -> float:
        """By how much impartial training is better."""
        return self.plain - self.impartial


@dataclass(frozen=True)
class Band:
    """A band of the stacked areas: its name, its class, and its height over training."""

    name: str
    class_: str
    values: Sequence[float]


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


def dumbbell(pairs: Sequence[Pair], label: str, *, width: float = 760) -> Markup:
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


def _dumbbell_row(pair: Pair, x: Scale, y: float, width: float, narrow: bool) -> Markup:
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


def stacked_areas(steps: Sequence[float], bands: Sequence[Band], label: str, *, width: float = 372) -> Markup:
    """Shares over training, one upon the other, the first at the bottom; each is named where it ends.

    Args:
        steps: Where the shares were read.
        bands: The shares; they are from 0 to 1 together.
        label: The alternative text.
        width: In pixels.
    """
    height, top, left, right = 300.0, 10.0, 36.0, width - 128
    if len(steps) == 1:  # a band needs two ends
        steps, bands = [steps[0], steps[0] + 1], [Band(b.name, b.class_, [b.values[0]] * 2) for b in bands]
    x = Scale(steps[0], steps[-1] if steps[-1] > steps[0] else steps[0] + 1, left, right)
    y = Scale(0, 1, height - 28, top)
    below, middles, parts = [0.0] * len(steps), [], []
    for band in bands:
        above = [b + v for b, v in zip(below, band.values, strict=True)]
        edge = [(x(s), y(v)) for s, v in zip(steps, above, strict=True)]
        edge += [(x(s), y(v)) for s, v in zip(reversed(steps), reversed(below), strict=True)]
        area = path(edge, f"area {band.class_}", closed=True)
        parts.append(element("g", element("title", f"{band.name}: {band.values[-1]:.0%} at the end"), area))
        middles.append(y((below[-1] + above[-1]) / 2))
        below = above
    for t in (0, 0.25, 0.5, 0.75, 1):
        parts += [line(left, y(t), right, y(t), "over"), text(left - 6, y(t) + 4, f"{t:.0%}", "tick", "end")]
    shown = x.ticks(4)
    parts += [
        text(x(t), height - 10, _step(t, steps[-1]), "tick", "middle") for t in shown if t > x.low or len(shown) < 3
    ]
    for band, middle, place in zip(bands, middles, apart(middles, 17, top + 6, height - 32), strict=True):
        corner = right + 12
        parts.append(path([(right + 2, middle), (corner - 4, place), (corner, place)], f"leader {band.class_}"))
        name = shorten(band.name, width - corner - 42)
        parts.append(text(corner + 4, place + 4, name, "name"))
        parts.append(text(width - 2, place + 4, f"{band.values[-1]:.0%}", "value", "end"))
    return image(width, height, label, *parts)


def _step(step: float, last: float) -> str:
    return f"{step / 1000:g}k" if last >= 1e4 else tick(step)


def heat_map(
    names: Sequence[str], below: Sequence[Sequence[float]], above: Sequence[Sequence[float]] | None, label: str
) -> Markup:
    """Cosines between all columns: one training below the diagonal, another above it.

    Args:
        names: Of the columns.
        below: The cosines of the first training.
        above: Those of the second, or None: the first one's stand there, too.
        label: The alternative text.
    """
    n, written = len(names), len(names) <= 24
    cell = min(44.0, max(30.0, 560 / n)) if written else 12.0
    size = 12.0 if written else 9.0
    longest = min(max(text_width(name, size) for name in names), 11 * size)
    left, top = longest + 8, longest * 0.72 + 10
    parts = []
    for i, name in enumerate(names):
        middle = (i + 0.5) * cell
        short = shorten(name, longest, size)
        class_ = "name" if written else "name small"
        parts.append(text(left - 6, top + middle + size / 3, short, class_, "end"))
        spot = f"translate({left + middle + 3:.1f} {top - 6:.1f}) rotate(-45)"
        parts.append(text(0, 0, short, class_, transform=spot))
        for j in range(n):
            value = (below if j < i or above is None else above)[i][j]
            parts += _cell(value, left + j * cell, top + middle - cell / 2, cell, i == j, written)
    right, bottom = left + n * cell, top + n * cell
    if above is not None:
        parts += [
            text(left, bottom + 16, "◣ plain", "corner plain"),
            text(right, bottom + 16, "impartial ◥", "corner impartial", "end"),
        ]
    return image(right + longest * 0.75, bottom + 22, label, *parts)


def _cell(value: float, x: float, y: float, cell: float, diagonal: bool, written: bool) -> list[Markup]:
    box = {"x": x + 0.5, "y": y + 0.5, "width": cell - 1, "height": cell - 1}
    if diagonal:
        return [element("rect", **box, class_="diagonal")]
    if not math.isfinite(value):
        return [element("rect", **box, class_="unknown")]
    strength = f"{min(abs(value), 1.0):.2f}"
    parts = [element("rect", **box, class_="opposed" if value < 0 else "aligned", fill_opacity=strength)]
    if written:
        parts.append(text(x + cell / 2, y + cell / 2 + 4, number(value, 2).replace("0.", ".", 1), "cosine", "middle"))
    return parts


def rate_distortion(
    curve: Sequence[Point], others: Sequence[Point], label: str, *, beat: float = math.nan, width: float = 760
) -> Markup:
    """Error against rate: plain training at several KL weights as a line, every f as a point.

    Points far to the right of everything that matters stand on the edge, as triangles.

    Args:
        curve: Plain training.
        others: Every f; the chosen one last, with the class "chosen".
        label: The alternative text.
        beat: The error of plain training at the rate of the chosen f.
        width: In pixels.
    """
    curve = sorted((p for p in curve if math.isfinite(p.rate + p.error)), key=lambda p: p.rate)
    others = [p for p in others if math.isfinite(p.rate + p.error)]
    narrow = width < NARROW
    height, left, right, top = (340.0 if narrow else 430.0), 44.0, width - 16, 22.0
    chosen = [p for p in others if "chosen" in p.class_]
    x = scale_of([0.0, _reach(curve, others, chosen)], left, right, n=4 if narrow else 6)
    y = scale_of([p.error for p in [*curve, *others]], height - 44, top)
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
    points = [_point(p, x, y, right) for p in [*curve, *others]]
    return image(width, height, label, *parts, element("g", *points, class_="points"),
                 class_=f"chart {'narrow' if narrow else 'wide'}", role="group")  # fmt: skip


def _reach(curve: Sequence[Point], others: Sequence[Point], chosen: Sequence[Point]) -> float:
    """How far the axis of rates goes: to all that matters, and to most of the others."""
    rates = sorted(p.rate for p in others)
    usual = rates[int(0.85 * (len(rates) - 1))] if rates else 0.0
    return max([usual, *(p.rate for p in curve), *(1.05 * p.rate for p in chosen), 1e-6])


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


def _point(point: Point, x: Scale, y: Scale, right: float) -> Markup:
    beyond = point.rate > x.high
    px, py = (right - 4 if beyond else x(point.rate)), y(point.error)
    late = px > (x.start + x.end) / 2
    anchor, dx = ("end", -11) if late else ("start", 11)
    if beyond:
        shape = path([(px - 4, py - 5), (px + 5, py), (px - 4, py + 5)], "shape", closed=True)
    elif "curve" in point.class_:
        shape = element("rect", x=px - 4, y=py - 4, width=8, height=8, class_="shape")
    else:
        shape = element("circle", cx=px, cy=py, r=7 if "chosen" in point.class_ else 5, class_="shape")
    parts = [element("circle", cx=px, cy=py, r=13, class_="target"), shape]
    if point.mark:
        spot = (px + dx, py + 4, anchor) if "chosen" in point.class_ else (min(px, right - 16), py - 10, "middle")
        parts.append(text(spot[0], spot[1], point.mark, "mark", spot[2]))
    parts.append(_label(point, px, max(py - 10, y.end), right))
    return element(
        "g",
        *parts,
        class_=f"point {point.class_}{' beyond' if beyond else ''}",
        role="img",
        tabindex=0,
        aria_label=point.words,
    )
