"""Methods by name, and those that `method="auto"` tries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...impartial import IMTLG, MGDA, AlignedMTL, CAGrad, GradDrop, GradNorm, Method, NashMTL, PCGrad, Sum, UPGrad

NUMBER = int | float | np.integer | np.floating
"""What counts as a number where users give one."""

# The one dictionary from names to methods: estimators are where strings end.
_SINGLE: dict[str, Callable[[], Method]] = {
    "sum": Sum,
    "gradnorm": GradNorm,
    "gradnorm-1": lambda: GradNorm(1.0),
    "mgda": MGDA,
    "imtlg": IMTLG,
    "cagrad": CAGrad,
    "nash": NashMTL,
    "aligned": AlignedMTL,
    "upgrad": UPGrad,
    "graddrop": GradDrop,
    "pcgrad": PCGrad,
}

_SCALES = ("gradnorm", "gradnorm-1", "mgda", "imtlg")
PAPER = (
    "sum",
    "graddrop",
    "pcgrad",
    *(name for scale in _SCALES for name in (scale, f"{scale}>>graddrop", f"{scale}>>pcgrad")),
)
"""The 15 choices that the paper cross-validates."""

CANDIDATES = (*PAPER, "cagrad", "nash", "aligned", "upgrad")
"""What `method="auto"` tries."""

KL_WEIGHTS = (1.0, 0.3, 0.1)
"""The KL weights that `kl_weight="auto"` tries."""


def method_of(name: str | Method) -> Method:
    """A method from its name, such as "imtlg" or "gradnorm>>pcgrad"."""
    if isinstance(name, Method):
        return name
    steps = [part.strip() for part in name.split(">>")] if isinstance(name, str) else []
    if not steps or any(step not in _SINGLE for step in steps):
        raise ValueError(
            f"method should be 'auto', a method of evenhand.impartial, one of {', '.join(_SINGLE)}, or a chain such "
            f"as 'imtlg>>pcgrad'. Found {name!r}."
        )
    method: Method = _SINGLE[steps[0]]()
    for step in steps[1:]:
        method = method >> _SINGLE[step]()
    return method


def candidates(
    method: str | Method | Sequence[str | Method], kl_weight: str | float | Sequence[float]
) -> list[tuple[str, Method, float]]:
    """All pairs to try, as (name, method, KL weight)."""
    if isinstance(method, str) and method == "auto":
        methods: Sequence[str | Method] = CANDIDATES
    else:
        methods = list(method) if isinstance(method, list | tuple) else [method]  # type: ignore[list-item]
    if not methods:
        raise ValueError(f"method should not be an empty list. Found {method!r}.")
    names = [m if isinstance(m, str) else repr(m) for m in methods]
    weights = _kl_weights(kl_weight)
    return [(n, method_of(m), w) for n, m in zip(names, methods, strict=True) for w in weights]


def _kl_weights(kl_weight: str | float | Sequence[float]) -> Sequence[float]:
    if isinstance(kl_weight, str) and kl_weight == "auto":
        return KL_WEIGHTS
    several = isinstance(kl_weight, list | tuple | np.ndarray)
    weights: list[Any] = list(kl_weight) if several else [kl_weight]  # type: ignore[arg-type]
    if not weights or not all(isinstance(w, NUMBER) and 0 <= w < float("inf") for w in weights):
        raise ValueError(f"kl_weight should be a number >= 0, a list of them, or 'auto'. Found {kl_weight!r}.")
    return [float(w) for w in weights]
