"""Words that several rules of guessing share."""

from __future__ import annotations

from typing import Any

import numpy as np

ADVICE = "drop it, pass unsupported='ignore', or name its kind"
NAME_KINDS = (
    "Kinds are named like {'x': 'real'}: in overrides of Schema.infer, in schema of TabularVAE and Table, or with "
    "--set at the shell; 'ignore' leaves a column out."
)


class Unsuitable(ValueError):
    """A column that is sound and yet tells a model nothing: it may be ignored."""


def show(value: Any) -> str:
    """A value as a reader would write it."""
    value = value.item() if isinstance(value, np.generic) else value
    return f"{value:.10g}" if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)
