"""Shares over training, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ._svg import Scale, apart, element, image, line, path, shorten, text, tick


@dataclass(frozen=True)
class Band:
    """A band of the stacked areas: its name, its class, and its height over training."""

    name: str
    class_: str
    values: Sequence[float]


def stacked_areas(steps: Sequence[float], bands: Sequence[Band], label: str, *, width: float = 372) -> Markup:
    """Shares over training, stacked, the first at the bottom; each is named where it ends.

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
