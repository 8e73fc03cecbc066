"""The paper's figure 5: a vertical axis for every score, a line for every model and method, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ..judges import MultimodalScores
from ..results import BASELINE, Result
from ._svg import Scale, element, file, line, number, path, text, text_width

STEP = 84.0  # pixels between axes
HEIGHT, TOP, LEFT, BELOW = 340.0, 16.0, 44.0, 44.0
N_COLOURS = 8
KEY = 34.0  # pixels of a line in the legend

Array = NDArray[np.float64]


def parallel_coordinates(results: Iterable[Result], *, baseline: str = BASELINE) -> str:
    """Scores in %, from 0 to 100 on every axis.

    Lines of a model have one colour, that of the baseline is dashed; bands are one standard deviation over seeds.

    Args:
        results: The label of a model (or objective), that of a method, and the scores of every seed.
        baseline: The method with dashed lines.
    """
    entries = [(model, method, [_axes_of(scores) for scores in seeds]) for model, method, seeds in results]
    if not entries or not all(seeds for _, _, seeds in entries):
        raise ValueError("results should have at least one entry, with scores of at least one seed each.")
    names = list(dict.fromkeys(name for _, _, seeds in entries for scores in seeds for name in scores))
    models = list(dict.fromkeys(model for model, _, _ in entries))
    right = LEFT + STEP * (len(names) - 1)
    x = [LEFT + STEP * i for i in range(len(names))]
    y = Scale(0, 102, HEIGHT - BELOW, TOP)
    parts, key = _axes(names, x, y), []
    for i, (model, method, seeds) in enumerate(entries):
        label, colour = f"{model}, {method}", f"c{models.index(model) % N_COLOURS}"
        style = f"line {colour}{' dashed' if method == baseline else ''}"
        parts.append(_entry(label, names, _values(seeds, names), (x, y), (style, colour)))
        key.append(_key(label, right + 24, TOP + 8 + 20 * i, style, colour))
    width = right + 24 + KEY + 12 + max(text_width(f"{model}, {method}") for model, method, _ in entries)
    return file(width, HEIGHT, f"Scores in % of {', '.join(models)}, an axis for each.", *parts, *key)


def _axes_of(scores: MultimodalScores) -> dict[str, float]:
    """Scores in %, by the label of their axis."""
    titles = {"self": "self", "cross": "cross", "reconstruction": "given all"}
    found = {f"{titles[view]}\n{d}": 100 * x for view, values in scores.summary.items() for d, x in values.items()}
    found["joint"] = 100 * scores.joint_coherence
    found["latent\nself"], found["latent\ncross"] = 100 * scores.latent_self, 100 * scores.latent_cross
    return {name: x for name, x in found.items() if not math.isnan(x)}


def _values(seeds: Sequence[Mapping[str, float]], names: Sequence[str]) -> Array:
    """By seed and axis, NaN where unknown."""
    return np.array([[scores.get(name, math.nan) for name in names] for scores in seeds])


def _axes(names: Sequence[str], x: Sequence[float], y: Scale) -> list[Markup]:
    parts = [line(place, y.start, place, y.end, "grid") for place in x]
    for percent in (0, 20, 40, 60, 80, 100):
        parts.append(text(x[0] - 10, y(percent) + 4, f"{percent}", "tick", "end"))
    parts.append(text(x[0] - 10, y.end - 4, "%", "tick", "end"))
    for name, place in zip(names, x, strict=True):
        for i, part in enumerate(name.split("\n")):
            parts.append(text(place, y.start + 18 + 14 * i, part, "name", "middle"))
    return parts


def _entry(
    label: str, names: Sequence[str], values: Array, axes: tuple[Sequence[float], Scale], classes: tuple[str, str]
) -> Markup:
    """The line of a model and method, through all axes where its scores are known, and its band."""
    (x, y), (style, colour) = axes, classes
    known = [i for i in range(len(names)) if np.isfinite(values[:, i]).any()]
    mean = {i: float(np.nanmean(values[:, i])) for i in known}
    parts = []
    if len(values) > 1:
        spread = {i: float(values[:, i].std(ddof=1)) for i in known if np.isfinite(values[:, i]).all()}
        for some in _neighbours(spread):
            above = [(x[i], y(mean[i] + spread[i])) for i in some]
            below = [(x[i], y(mean[i] - spread[i])) for i in reversed(some)]
            parts.append(path([*above, *below], f"band {colour}", closed=True))
    parts += [path([(x[i], y(mean[i])) for i in some], style) for some in _neighbours(mean)]
    for i in known:
        words = element("title", f"{label}: {names[i].replace(chr(10), ' ')} {number(mean[i], 1)} %")
        parts.append(element("circle", words, cx=x[i], cy=y(mean[i]), r=3, class_=f"dot {colour}"))
    return element("g", *parts)


def _neighbours(places: Iterable[int]) -> list[list[int]]:
    """Stretches of axes side by side, of at least two."""
    stretches = [[i for _, i in some] for _, some in groupby(enumerate(places), lambda pair: pair[1] - pair[0])]
    return [some for some in stretches if len(some) > 1]


def _key(label: str, left: float, y: float, style: str, colour: str) -> Markup:
    dot = element("circle", cx=left + KEY / 2, cy=y, r=3, class_=f"dot {colour}")
    return element("g", line(left, y, left + KEY, y, style), dot, text(left + KEY + 8, y + 4, label, "name"))
