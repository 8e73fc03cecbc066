"""The paper's figure 4: real and generated rows, column against column, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from ...tables.schema import Column, Schema
from ._svg import Scale, element, file, image, legal, line, path, shorten, text, text_width, tick

SIDE = 150.0  # pixels, of a panel
GAP = 12.0
LEFT, TOP, BOTTOM = 92.0, 56.0, 34.0
TURNED = 34.0  # pixels more for labels that are turned
MOST_POINTS = 250  # of every set in a panel: more would be a blot
MOST_FOR_DENSITIES = 2000
GRID = 48
MOST_NAMED = 8  # categories; of more, codes are written
MASS = (0.5, 0.9)  # of the rows that a contour encloses
SPREAD = 0.28  # of categories and whole numbers around their code

Array = NDArray[np.float64]


def pair_plot(
    real: ArrayLike,
    generated: Mapping[str, ArrayLike],
    schema: Schema,
    columns: Sequence[str],
    *,
    label: str = "",
    standalone: bool = True,
) -> str:
    """Pairs of columns: marginals on the diagonal, points above it, contours of densities below it.

    Args:
        real: Rows ``[n, D]`` in the schema's order: numbers as they are, categories as codes, NaN where missing.
        generated: Rows by label, such as "plain" and "impartial", which have colours of their own.
        schema: The columns.
        columns: Names of those to show, usually three or four.
        label: The alternative text; one is made if it is empty.
        standalone: Whether the text is a file of its own, which brings its colours along.
    """
    unknown = [name for name in columns if name not in schema]
    if unknown or not columns:
        raise ValueError(f"columns should be some of {', '.join(schema.names)}. Found {list(columns)!r}.")
    sets = {"real": _checked("real", real, schema)}
    sets |= {name: _checked(name, rows, schema) for name, rows in generated.items()}
    places = [schema.names.index(name) for name in columns]
    chosen = [schema.columns[i] for i in places]
    cells = {name: rows[:, places] for name, rows in sets.items()}
    scales = [_range(column, cells["real"][:, i], [rows[:, i] for rows in cells.values()])
              for i, column in enumerate(chosen)]  # fmt: skip
    size = LEFT + len(chosen) * (SIDE + GAP)
    parts = [_legend(list(sets)), *_names(chosen), *_ticks(chosen, scales)]
    for i in range(len(chosen)):
        for j in range(len(chosen)):
            parts.append(_panel(cells, chosen, scales, i, j))
    made = label or f"Pair plots of {', '.join(columns)}: {', '.join(sets)} rows."
    turned = TURNED if any(_turned(column) for column in chosen) else 0.0
    height = TOP + len(chosen) * (SIDE + GAP) + BOTTOM - GAP + turned
    return file(size, height, made, *parts) if standalone else legal(image(size, height, made, *parts))


# Inside


def _checked(name: str, rows: ArrayLike, schema: Schema) -> Array:
    array = np.asarray(rows, float)
    if array.ndim != 2 or array.shape[1] != len(schema):
        raise ValueError(f"{name} should have {len(schema)} columns, as the schema. Found the shape {array.shape}.")
    return np.where(np.isfinite(array), array, math.nan)


def _range(column: Column, real: Array, sets: Sequence[Array]) -> tuple[float, float]:
    """What an axis shows: all categories, or nearly all real numbers; those far away would hide the rest."""
    if column.kind.nominal:
        return -0.6, column.size - 0.4
    known = real[~np.isnan(real)]
    if not len(known):
        known = np.concatenate([np.concatenate(sets), [0.0, 1.0]])
        known = known[~np.isnan(known)]
    low, high = np.quantile(known, [0.005, 0.995])
    low, high = (low, high) if high > low else (float(known.min()), float(known.max()))
    margin = 0.08 * (high - low) or 0.5 * max(abs(low), 1.0)
    return float(low - margin), float(high + margin)


def _corner(i: int, j: int) -> tuple[float, float]:
    return LEFT + j * (SIDE + GAP), TOP + i * (SIDE + GAP)


def _panel(
    sets: Mapping[str, Array], columns: Sequence[Column], ranges: Sequence[tuple[float, float]], i: int, j: int
) -> Markup:
    """The panel in row i and column j; it clips what lies outside."""
    left, top = _corner(i, j)
    x = Scale(*ranges[j], 0, SIDE)
    y = Scale(*ranges[i], SIDE, 0)
    parts = []
    if i == j:
        parts = _bars(sets, i, x) if columns[i].kind.nominal else _curves(sets, i, x)
    else:
        for name, rows in sets.items():
            pairs = rows[~np.isnan(rows[:, [j, i]]).any(1)][:, [j, i]]
            if j > i:
                parts.append(_cloud(pairs, (columns[j], columns[i]), (x, y), name))
            else:
                parts += _contours(pairs, (columns[j], columns[i]), (x, y), name)
    frame = element("rect", x=0, y=0, width=SIDE, height=SIDE, class_="frame")
    inside = element("svg", *parts, x=left, y=top, width=SIDE, height=SIDE, overflow="hidden", aria_hidden="true")
    return element("g", element("g", frame, transform=f"translate({left:g} {top:g})"), inside)


def _cloud(pairs: Array, columns: tuple[Column, Column], axes: tuple[Scale, Scale], name: str) -> Markup:
    """Points as one path: a line of no length with round ends is a dot."""
    few = _jittered(pairs[:MOST_POINTS], columns)
    dots = "".join(f"M{axes[0](a):.1f} {axes[1](b):.1f}h0" for a, b in few.tolist())
    return element("path", d=dots or "M0 0", class_=f"dots {_class(name)}")


def _contours(pairs: Array, columns: tuple[Column, Column], axes: tuple[Scale, Scale], name: str) -> list[Markup]:
    from contourpy import contour_generator

    if len(pairs) < 5:
        return []
    x, y = (np.linspace(axis.low, axis.high, GRID) for axis in axes)
    density = _density(pairs[:MOST_FOR_DENSITIES], columns, x, y)
    heights = np.sort(density.ravel())[::-1]
    mass = np.cumsum(heights)
    if not mass[-1] > 0:
        return []
    # With nothing around the panel every contour closes, and can be filled.
    x, y = (np.concatenate([[2 * a[0] - a[1]], a, [2 * a[-1] - a[-2]]]) for a in (x, y))
    lines = contour_generator(x, y, np.pad(density, 1))
    parts = []
    for share in MASS:
        level = heights[min(int(np.searchsorted(mass, share * mass[-1])), heights.size - 1)]
        steps = "".join(
            "M" + "L".join(f"{axes[0](a):.1f} {axes[1](b):.1f}" for a, b in np.asarray(points).tolist())
            for points in lines.lines(float(level))
        )
        if steps:
            parts.append(element("path", d=steps, class_=f"contour {_class(name)}"))
    return parts


def _density(pairs: Array, columns: tuple[Column, Column], x: Array, y: Array) -> Array:
    """A density on a grid, ``[y, x]``: kernels along the data, or along the axes where there are categories."""
    from scipy.stats import gaussian_kde

    nominal = any(column.kind.nominal for column in columns)
    spread = pairs.std(0)
    if not nominal and (spread > 0).all() and np.linalg.det(np.cov(pairs.T / spread[:, None])) > 1e-3:
        grid = np.stack(np.meshgrid(x, y)).reshape(2, -1)
        return gaussian_kde(pairs.T)(grid).reshape(len(y), len(x))
    kernels = [_kernels(pairs[:, k], columns[k], axis) for k, axis in enumerate((x, y))]
    return kernels[1] @ kernels[0].T


def _kernels(values: Array, column: Column, grid: Array) -> Array:
    """A Gaussian around every value, on a grid, ``[grid, n]``."""
    least = 1.5 * (grid[1] - grid[0])  # a narrower one would fall between the points of the grid
    width = SPREAD if column.kind.nominal else 0.9 * _width(values) * len(values) ** -0.2
    return np.exp(-0.5 * ((grid[:, None] - values) / max(width, least)) ** 2)


def _width(values: Array) -> float:
    quarter = np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.349
    return float(min(values.std(), quarter) or values.std())


def _jittered(pairs: Array, columns: tuple[Column, Column]) -> Array:
    """Codes and whole numbers moved a little at random, so that equal ones do not cover each other."""
    noise = np.random.default_rng(0).uniform(-SPREAD, SPREAD, pairs.shape)
    whole = np.array([column.kind.whole for column in columns])
    return pairs + noise * whole


def _curves(sets: Mapping[str, Array], i: int, x: Scale) -> list[Markup]:
    """Marginal densities of numbers."""
    grid = np.linspace(x.low, x.high, 2 * GRID)
    found = {name: rows[~np.isnan(rows[:, i]), i][:MOST_FOR_DENSITIES] for name, rows in sets.items()}
    column = Column("", "real")  # type: ignore[arg-type]
    curves = {}
    for name, values in found.items():
        if len(values):
            heights = _kernels(values, column, grid).sum(1)
            curves[name] = heights / max(heights.sum(), 1e-300)
    y = Scale(0, max([float(c.max()) for c in curves.values()], default=1.0) * 1.12 or 1.0, SIDE, 0)
    parts = []
    for name, heights in curves.items():
        edge = [(x(a), y(b)) for a, b in zip(grid.tolist(), heights.tolist(), strict=True)]
        if name == "real":
            parts.append(path([(0, SIDE), *edge, (SIDE, SIDE)], "area real", closed=True))
        parts.append(path(edge, f"line {_class(name)}"))
    return parts


def _bars(sets: Mapping[str, Array], i: int, x: Scale) -> list[Markup]:
    """Shares of categories, side by side."""
    size = round(x.high + 0.4)
    shares = {}
    for name, rows in sets.items():
        known = rows[~np.isnan(rows[:, i]), i]
        counts = np.bincount(np.clip(np.round(known), 0, size - 1).astype(int), minlength=size)
        shares[name] = counts / max(len(known), 1)
    y = Scale(0, max(float(s.max()) for s in shares.values()) * 1.12 or 1.0, SIDE, 0)
    width = (x(0.8) - x(0.0)) / len(shares)
    parts = []
    for k, (name, values) in enumerate(shares.items()):
        for code, share in enumerate(values.tolist()):
            at = x(code) + (k - len(shares) / 2) * width
            box = {"x": at, "y": y(share), "width": max(width - 0.5, 0.5), "height": SIDE - y(share)}
            parts.append(element("rect", **box, class_=f"fill {_class(name)}"))
    return parts


def _names(columns: Sequence[Column]) -> list[Markup]:
    parts = []
    for i, column in enumerate(columns):
        left, top = _corner(i, i)
        unit = f" ({column.unit})" if column.unit else ""
        name = shorten(column.name, SIDE - 8 - text_width(unit)) + unit
        parts.append(text(left + SIDE / 2, TOP - 10, name, "name", "middle"))
        turned = f"translate(12 {top + SIDE / 2:g}) rotate(-90)"
        parts.append(text(0, 0, name, "name", "middle", transform=turned))
    return parts


def _ticks(columns: Sequence[Column], ranges: Sequence[tuple[float, float]]) -> list[Markup]:
    """Below the last row, and left of the first column; that panel on the diagonal has no scale of its own."""
    parts, bottom = [], TOP + len(columns) * (SIDE + GAP) - GAP
    for i, column in enumerate(columns):
        left, top = _corner(i, i)
        x, y = Scale(*ranges[i], left, left + SIDE), Scale(*ranges[i], top + SIDE, top)
        for value, label in _marks(column, x):
            if len(columns) > 1 and i:
                parts += [text(LEFT - 8, y(value) + 4, label, "tick", "end")]
            parts += [_below(x(value), bottom, label, _turned(column))]
            parts += [line(x(value), bottom, x(value), bottom + 4, "axis")]
    return parts


def _below(x: float, bottom: float, label: str, turned: bool) -> Markup:
    if not turned:
        return text(x, bottom + 16, label, "tick", "middle")
    return text(0, 0, label, "tick", "end", transform=f"translate({x + 4:g} {bottom + 14:g}) rotate(-45)")


def _marks(column: Column, scale: Scale) -> list[tuple[float, str]]:
    """Values with what is written beside them: names of categories, or some of their codes if there are many."""
    if not column.kind.nominal:
        return [(value, tick(value)) for value in scale.ticks(3)]
    if column.size <= MOST_NAMED:
        return [(float(code), shorten(str(name), 62)) for code, name in enumerate(column.categories)]
    step = math.ceil(column.size / MOST_NAMED)
    return [(float(code), str(code)) for code in range(0, column.size, step)]


def _turned(column: Column) -> bool:
    """Whether the names of categories are too wide to stand side by side."""
    if not column.kind.nominal or column.size > MOST_NAMED:
        return False
    return max(text_width(str(name)) for name in column.categories) > SIDE / column.size - 4


def _legend(names: Sequence[str]) -> Markup:
    parts, at = [], LEFT
    for name in names:
        parts.append(element("circle", cx=at + 5, cy=14, r=5, class_=f"fill {_class(name)}"))
        parts.append(text(at + 16, 18, shorten(name, 160), "name"))
        at += 36 + min(text_width(name), 160)
    return element("g", *parts)


def _class(name: str) -> str:
    """The class of a set's colour; any other name is drawn as a third one."""
    return name if name in ("real", "plain", "impartial") else "c3"
