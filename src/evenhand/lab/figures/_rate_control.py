"""How rates that are held settled: the rate and the KL weight over training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ...common import RATE_TOLERANCE, wanted_rate
from ._svg import LogScale, Scale, element, file, image, line, log_scale_of, number, path, scale_of, text, tick

COLOURS = 8
HEIGHT, GAP = 150.0, 26.0  # of a chart, and between that of rates and that of weights


@dataclass(frozen=True)
class Held:
    """A training that held a rate: its name, where it was measured, and rates and KL weights there."""

    name: str
    steps: Sequence[float]
    rates: Sequence[float]
    weights: Sequence[float]


def rate_control(history: Sequence[Mapping[str, Any]], target: float | str, names: Sequence[str] = ()) -> str:
    """How a rate settled, as an SVG file: `history_` of a `TabularVAE`, or `history` of a `MultimodalVAE`.

    Args:
        history: The rows.
        target: The rate that was to be held, 8 or "rate:8".
        names: What candidates are called; their numbers by default.
    """
    rate = wanted_rate(target) if isinstance(target, str) else float(target)
    curves: dict[int, list[tuple[float, float, float]]] = {}
    for row in history:
        if "rates" in row:
            for candidate, *found in zip(row["candidates"], row["rates"], row["kl_weights"], strict=True):
                curves.setdefault(candidate, []).append((row["step"], *found))
        elif "rate" in row:
            curves.setdefault(0, []).append((row["step"], row["rate"], row["kl_weight"]))
    if rate is None or not curves:
        raise ValueError("history should be of a training that holds a rate. Found no rates in it.")
    held = []
    for candidate, points in curves.items():
        name = names[candidate] if candidate < len(names) else f"candidate {candidate + 1}"
        held.append(Held(name, *zip(*points, strict=True)))
    chart = held_chart(held, rate, f"The rate over training, held at {rate:g} nats.", width=640)
    return file(640, 2 * HEIGHT + GAP + 20 + 16 * len(held), f"A rate held at {rate:g} nats.", chart)


def held_chart(curves: Sequence[Held], target: float, label: str, *, width: float) -> Markup:
    """Rates above, KL weights below, over steps; a band shows where rates are within the tolerance.

    Args:
        curves: What was trained.
        target: The rate.
        label: The alternative text.
        width: In pixels.
    """
    left, right = 44.0, width - 12
    steps = [step for curve in curves for step in curve.steps]
    x = Scale(0, max([*steps, 1.0]), left, right)
    near = [r for c in curves for r in c.rates if _known(r) and r < 3 * target]
    rates = scale_of([target * 1.1, *near], HEIGHT - 6, 18)
    weights = log_scale_of([w for c in curves for w in c.weights if _known(w)], 2 * HEIGHT + GAP - 22, HEIGHT + GAP)
    low, high = ((1 + sign * RATE_TOLERANCE) * target for sign in (-1, 1))
    band = [(left, rates(low)), (right, rates(low)), (right, rates(high)), (left, rates(high))]
    parts = [path(band, "band real", closed=True)]
    for scale in (rates, weights):
        parts += [line(left, scale(t), right, scale(t), "grid") for t in scale.ticks(4)]
        parts += [text(left - 8, scale(t) + 4, tick(t), "tick", "end") for t in scale.ticks(4)]
    parts += [text(left - 36, 11, "↑ rate, nats per row", "tick")]
    parts += [text(left - 36, HEIGHT + GAP - 9, "↑ KL weight", "tick")]
    parts += [text(x(t), 2 * HEIGHT + GAP - 4, tick(t), "tick", "middle") for t in x.ticks(4)]
    for i, curve in enumerate(curves):
        colour, last = f"c{i % COLOURS}", f"{number(_last(curve.rates), 2)} nats, KL x {_last(curve.weights):.2g}"
        drawn = [path(_points(curve.steps, ys, x, y), f"line {colour}")
                 for ys, y in ((curve.rates, rates), (curve.weights, weights))]  # fmt: skip
        parts.append(element("g", element("title", f"{curve.name}: {last}"), *drawn))
        at = 2 * HEIGHT + GAP + 14 + 16 * i
        parts.append(element("rect", x=left, y=at - 4, width=8, height=8, class_=f"fill {colour}"))
        parts.append(text(left + 14, at + 4, f"{curve.name}: {last}", "name"))
    return image(width, 2 * HEIGHT + GAP + 20 + 16 * len(curves), label, *parts)


def _points(
    steps: Sequence[float], values: Sequence[float], x: Scale, y: Scale | LogScale
) -> list[tuple[float, float]]:
    top, bottom = min(y.start, y.end), max(y.start, y.end)
    return [(x(s), min(max(y(v), top), bottom)) for s, v in zip(steps, values, strict=True) if _known(v)]


def _last(values: Sequence[float]) -> float:
    return next((v for v in reversed(values) if _known(v)), math.nan)


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
