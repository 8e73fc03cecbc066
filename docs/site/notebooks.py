"""Notebooks: Python scripts in cells (`# %%`), executed when the site is built, shown with their outputs."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)
STYLE = re.compile(r"<style.*?</style>\n?", re.DOTALL)  # pandas brings one for every table; the site has its own
LAYOUT = {"bbox_inches": "tight", "facecolor": "white", "dpi": 144}


class Cell(NamedTuple):
    """Words or code."""

    words: bool
    text: str


def cells(script: str) -> Iterator[Cell]:
    """The cells of a script; comments in a cell marked [markdown] are words."""
    _, *parts = CELL.split(script)
    for mark, body in zip(parts[::2], parts[1::2], strict=True):
        words = "[markdown]" in mark
        yield Cell(words, re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip() if words else body.strip())


def executed(path: Path) -> str:
    """A page: words, code, and what the code prints, shows and draws."""
    import matplotlib

    matplotlib.use("agg")
    namespace: dict[str, Any] = {"__name__": "__notebook__"}
    parts = [f"[As a Jupyter notebook]({path.stem}.ipynb){{ .download download }}"]
    for cell in cells(path.read_text(encoding="utf-8")):
        parts.append(cell.text if cell.words else f"```python\n{cell.text}\n```")
        parts += [] if cell.words else _outputs(cell.text, namespace, path)
    title, rest = parts[1].partition("\n")[::2]
    return "\n\n".join([title, parts[0], rest, *parts[2:]])


def _outputs(code: str, namespace: dict[str, Any], path: Path) -> Iterator[str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = _run(code, namespace, path)
    figures = list(_figures())
    if printed.getvalue():
        yield _text(printed.getvalue().rstrip())
    if value is not None and not figures:  # what a cell that draws returns is a part of the drawing
        html = getattr(value, "_repr_html_", None)
        yield f'<div class="frame">{STYLE.sub("", html())}</div>' if html else _text(repr(value))
    yield from figures


def _text(output: str) -> str:
    return f"``` {{ .text .output }}\n{output}\n```"


def _run(code: str, namespace: dict[str, Any], path: Path) -> Any:
    """Execute a cell; the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(path), "exec"), namespace)
    return eval(compile(ast.Expression(last.value), str(path), "eval"), namespace) if last else None


def _figures() -> Iterator[str]:
    """Open figures as pictures inside the page, and closed."""
    from matplotlib import pyplot

    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, format="png", **LAYOUT)
        pyplot.close(number)
        encoded = base64.b64encode(picture.getvalue()).decode()
        yield f'<img class="figure" alt="" src="data:image/png;base64,{encoded}">'


def as_jupyter(script: str) -> str:
    """The same cells as a file for Jupyter, without outputs."""
    kinds = {True: {"cell_type": "markdown"}, False: {"cell_type": "code", "execution_count": None, "outputs": []}}
    document = {
        "cells": [
            {**kinds[cell.words], "id": f"cell-{i}", "metadata": {}, "source": cell.text.splitlines(keepends=True)}
            for i, cell in enumerate(cells(script))
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1)
