"""Trees beside a network, as many as there is time for."""

from __future__ import annotations

import time
import warnings

from ..frames import RawTable
from ..schema import Schema
from ..trees import Boosted, Forest, grow


def grow_until(until: float, table: RawTable, schema: Schema, seed: int) -> Forest | None:
    """Boosted trees for the columns of a table; None if there was no time for any.

    Ctrl-C ends it too, and what is grown by then is kept.

    Args:
        until: When the last model may begin to grow, in seconds of `time.monotonic`.
        table: The rows to learn from.
        schema: Their columns.
        seed: Of everything random.
    """
    models: list[Boosted] = []
    try:
        for model in grow(table, schema, seed=seed):
            models.append(model)
            if time.monotonic() > until:
                break
    except KeyboardInterrupt:
        warnings.warn("Interrupted: the trees that are grown by now are kept.", stacklevel=6)
    return Forest(models) if models else None
