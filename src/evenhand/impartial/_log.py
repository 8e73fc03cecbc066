"""Where a monitor's numbers go: to what the user logs with already, so that no logger is a dependency."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

Log = Callable[[dict[str, float], int], object]  # the numbers of a step by name, and the step


class ScalarWriter(Protocol):
    """What writes one number at a time, as TensorBoard's `SummaryWriter` does."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> object:
        """Write one number."""


def log_function(log: Log | ScalarWriter) -> Log:
    """A function of numbers by name and a step, whatever writes them."""
    if hasattr(log, "add_scalar"):
        return partial(_write_each, log)
    if callable(log):
        return log
    methods = [name for name in ("log_metrics", "log") if callable(getattr(log, name, None))]
    advice = f" Pass its method {methods[0]}." if methods else ""
    raise ValueError(
        "log should be a SummaryWriter, or a function of a dictionary of numbers and a step, such as run.log or "
        f"mlflow.log_metrics. Found {type(log).__name__}.{advice}"
    )


def _write_each(writer: ScalarWriter, numbers: dict[str, float], step: int) -> None:
    for name, number in numbers.items():
        writer.add_scalar(name, number, step)
