"""What a KL weight may be: a number, or the rate that it is to hold, written "rate:8"."""

from __future__ import annotations

import math

from ._checks import is_number
from ._errors import ArgumentError

WORD = "rate:"

RATE_TOLERANCE = 0.03
"""How far, as a share of it, a rate that was measured may be from the one that was asked for."""


def wanted_rate(kl_weight: object) -> float | None:
    """The rate that a KL weight asks for, in nats per row; None for one that is fixed.

    Example:
        >>> wanted_rate("rate:8"), wanted_rate(0.3)
        (8.0, None)
    """
    if not isinstance(kl_weight, str) or not kl_weight.startswith(WORD):
        return None
    try:
        rate = float(kl_weight.removeprefix(WORD))
    except ValueError:
        return None
    return rate if 0 < rate < math.inf else None


def check_kl_weight(name: str, value: object, or_else: str = "") -> None:
    """Refuse what is neither a finite number from 0 on nor a rate.

    Args:
        name: Of the argument.
        value: What was given.
        or_else: What else the argument may be, for the error.
    """
    fixed = is_number(value) and 0 <= value < math.inf  # type: ignore[operator]
    if not fixed and wanted_rate(value) is None:
        wanted = f"be a number >= 0{or_else}, or a rate to hold in nats per row such as 'rate:8'"
        raise ArgumentError(name, wanted, repr(value))


def misses(measured: float, target: float) -> bool:
    """Whether a rate is not within the tolerance of its target; one that is not known misses it."""
    return not abs(measured / target - 1) <= RATE_TOLERANCE


def missed_rate(measured: float, target: float, weight: float, who: str = "") -> str:
    """A sentence about a rate that was not reached: the figure, why that may be, and what to do."""
    missed = f"The rate{who} should be {target:g} nats per row. Found {measured:.3g} at KL weight {weight:.2g}"
    if measured < target:
        return (
            f"{missed}: the latent variables take no more. Ask for a lower rate, train longer, or enlarge n_latent."
        )
    return f"{missed}: training has not come down to it. Ask for a higher rate, or train longer."
