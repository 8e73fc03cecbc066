"""What pages show of collected reports; needs nothing but the results."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from . import _fusion_table, _tasks_table


def page(tables: Callable[[dict[str, object]], str], path: Path) -> str:
    """The tables of a report, or that there is none yet."""
    if not path.is_file():
        return "Not run yet."
    return tables(json.loads(path.read_text(encoding="utf-8")))


multitask_page = partial(page, _tasks_table.tables)
fusion_page = partial(page, _fusion_table.tables)
