"""What an estimator tries: pairs of a method and a KL weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...common import wanted_rate
from ...impartial import THOROUGH_METHODS, Method, method_of

NUMBER = int | float | np.integer | np.floating
"""What counts as a number where users give one."""

KL_WEIGHTS = (1.0, 0.3, 0.1)
"""The KL weights that `kl_weight="auto"` tries where guesses go through the latent variables."""

FEW_METHODS = ("sum", "pcgrad")
"""What `method="auto"` tries where guesses go through the latent variables. Where there is a direct way it is plain
training alone: a second candidate cost half of the time, and guesses of hidden cells were the same."""


def candidates(
    method: str | Method | Sequence[str | Method],
    kl_weight: str | float | Sequence[float | str],
    *,
    direct: bool = False,
) -> list[tuple[str, Method, float | str]]:
    """All pairs to try, as (name, method, KL weight or rate); where there is a direct way, "auto" is one of each."""
    if isinstance(method, str) and method in ("auto", "thorough"):
        few = FEW_METHODS[:1] if direct else FEW_METHODS
        methods: Sequence[str | Method] = few if method == "auto" else THOROUGH_METHODS
    else:
        methods = list(method) if isinstance(method, list | tuple) else [method]  # type: ignore[list-item]
    if not methods:
        raise ValueError(f"method should not be an empty list. Found {method!r}.")
    names = [m if isinstance(m, str) else repr(m) for m in methods]
    several = not direct or method == "thorough"
    weights = _kl_weights(kl_weight, KL_WEIGHTS if several else KL_WEIGHTS[:1])
    return [(n, method_of(m), w) for n, m in zip(names, methods, strict=True) for w in weights]


def _kl_weights(kl_weight: str | float | Sequence[float | str], automatic: Sequence[float]) -> Sequence[float | str]:
    if isinstance(kl_weight, str) and kl_weight == "auto":
        return automatic
    several = isinstance(kl_weight, list | tuple | np.ndarray)
    weights: list[Any] = list(kl_weight) if several else [kl_weight]  # type: ignore[arg-type]
    if not weights or not all(map(_is_weight, weights)):
        raise ValueError(
            "kl_weight should be a number >= 0, a rate to hold such as 'rate:8', a list of them, or 'auto'. Found "
            f"{kl_weight!r}."
        )
    return [str(w) if wanted_rate(w) else float(w) for w in weights]


def _is_weight(value: Any) -> bool:
    return bool(wanted_rate(value) or (isinstance(value, NUMBER) and 0 <= value < float("inf")))
