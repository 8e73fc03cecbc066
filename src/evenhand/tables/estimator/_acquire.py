"""What to ask next: the missing cells of a row in the order of what they tell about a target."""

from __future__ import annotations

import torch

from ...common import ArgumentError
from ..frames import RawTable
from ..inference import rewards
from ..schema import Schema
from ._fitted import Fitted


def wishes(
    fitted: Fitted, table: RawTable, target: str, budget: int, n_samples: int, generator: torch.Generator
) -> list[dict[str, float]]:
    """For every row, the names of the best cells to ask for with what they tell in nats, best first."""
    place, names = _place(fitted.schema, target), fitted.schema.names
    options = {"n_samples": n_samples, "generator": generator}
    found = rewards(fitted.network, fitted.preparation, table, place, **options)  # type: ignore[arg-type]
    ranked = found.nan_to_num(-torch.inf).sort(1, descending=True)
    rows = zip(ranked.values[:, :budget].tolist(), ranked.indices[:, :budget].tolist(), strict=True)
    return [{names[d]: nats for nats, d in zip(*row, strict=True) if nats > -torch.inf} for row in rows]


def _place(schema: Schema, target: str) -> int:
    names, target = list(schema.names), str(target)
    if target not in names:
        why = f"It is ignored: {schema.ignored[target]}" if target in schema.ignored else ""
        raise ArgumentError("target", f"be one of the columns {', '.join(map(repr, names))}", repr(target), why)
    return names.index(target)
