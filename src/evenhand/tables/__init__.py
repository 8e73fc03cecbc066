"""All of a table's way, from a cell to a filled cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .estimator import Report, TabularVAE
    from .frames import (
        at_random,
        completely_at_random,
        depending_on_values,
        fill_parquet,
        read_file,
        sample_parquet,
        write_file,
    )
    from .inference import Quality, quality
    from .longitudinal import LongitudinalVAE
    from .schema import Column, Kind, Schema

__all__ = [
    "Column",
    "Kind",
    "LongitudinalVAE",
    "Quality",
    "Report",
    "Schema",
    "TabularVAE",
    "at_random",
    "completely_at_random",
    "depending_on_values",
    "fill_parquet",
    "quality",
    "read_file",
    "sample_parquet",
    "write_file",
]

_HOMES = {
    "Column": "schema",
    "Kind": "schema",
    "LongitudinalVAE": "longitudinal",
    "Quality": "inference",
    "Report": "estimator",
    "Schema": "schema",
    "TabularVAE": "estimator",
    "at_random": "frames",
    "completely_at_random": "frames",
    "depending_on_values": "frames",
    "fill_parquet": "frames",
    "quality": "inference",
    "read_file": "frames",
    "sample_parquet": "frames",
    "write_file": "frames",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES, "tables")
