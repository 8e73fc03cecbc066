"""Cosines between columns, as colours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from ._svg import element, image, number, shorten, text, text_width


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
    left, top = 1.06 * longest + 10, longest * 0.72 + 10  # fonts differ
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
