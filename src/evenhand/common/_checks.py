"""What arguments may be: one way to refuse what is not among choices, no integer, or no number of a range."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from ._errors import ArgumentError


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse what is not among the choices.

    Example:
        >>> check_choice("objective", "elbow", ("elbo", "iwae"))
        Traceback (most recent call last):
        evenhand.common._errors.ArgumentError: objective should be one of 'elbo', 'iwae'. Found 'elbow'.
    """
    known = list(choices)
    if value not in known:
        raise ArgumentError(name, f"be one of {', '.join(map(repr, known))}", repr(value))


def check_integer(name: str, value: object, least: int = 1, *, optional: bool = False) -> None:
    """Refuse what is no integer from `least` on; booleans are none. None passes where it is optional."""
    if (value is None and optional) or (is_integer(value) and value >= least):  # type: ignore[operator]
        return
    raise ArgumentError(name, f"be an integer >= {least}{' or None' if optional else ''}", repr(value))


def checked_seed(value: Any) -> int:
    """A seed as torch takes it, from any kind of integer."""
    if not is_integer(value):
        raise ArgumentError("seed", "be an integer", repr(value))
    return int(value)


def check_number(
    name: str, value: object, low: float = 0.0, high: float = math.inf, *, above: bool = False, below: bool = False
) -> None:
    """Refuse what is no finite number from `low` to `high`; `above` and `below` leave the ends out."""
    number: Any = value
    if is_number(value) and math.isfinite(number):
        over = number > low if above else number >= low
        under = number < high if below else number <= high
        if over and under:
            return
    wanted = f"{'>' if above else '>='} {low:g}"
    if high < math.inf:
        wanted += f" and {'<' if below else '<='} {high:g}"
    raise ArgumentError(name, f"be a number {wanted}", repr(value))


def check_flag(name: str, value: object, *, optional: bool = False) -> None:
    """Refuse what is neither True nor False: a word such as "no" would count as yes."""
    if not (isinstance(value, bool) or (value is None and optional)):
        raise ArgumentError(name, f"be True{', False or None' if optional else ' or False'}", repr(value))


def is_integer(value: object) -> bool:
    """Whether it is an integer, of Python or numpy; a boolean is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether it is a real number, of Python or numpy; a boolean is none."""
    return isinstance(value, Real) and not isinstance(value, bool)
