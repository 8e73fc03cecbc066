"""What the arguments of an estimator may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common import ArgumentError, check_choice, check_integer, is_number
from ..families import FAMILIES
from ..objectives import OBJECTIVES
from ..schema import Schema
from ..stack import check_objective
from ._candidates import candidates

if TYPE_CHECKING:
    from ._tabular_vae import TabularVAE

CHOICES = {
    "model": tuple(FAMILIES),
    "objective": OBJECTIVES,
    "unsupported": ("error", "ignore"),
    "missing": ("at_random", "not_at_random"),
    "aggregate": ("mean", "median", "mode"),
}
POSITIVE = ("n_samples", "batch_size", "patience", "n_draws")


def check_parameters(estimator: TabularVAE) -> None:
    """Refuse arguments of the constructor that mean nothing, by name."""
    arguments: dict[str, Any] = estimator.get_params(deep=False)
    for name, allowed in CHOICES.items():
        check_choice(name, arguments[name], allowed)
    check_objective(FAMILIES[estimator.model], estimator.objective)
    for name in POSITIVE:
        check_integer(name, arguments[name])
    check_integer("kl_warm_up", estimator.kl_warm_up, 0)
    for name in ("n_latent", "n_hidden", "n_layers", "max_epochs"):
        check_integer(name, arguments[name], optional=True)
    for name in ("lr", "validation_fraction"):
        value = arguments[name]
        if not (is_number(value) and 0 < value < 1):
            raise ValueError(f"{name} should be a number between 0 and 1. Found {value!r}.")
    if estimator.hide != "auto" and not (is_number(estimator.hide) and 0 <= estimator.hide <= 0.5):
        raise ValueError(f"hide should be 'auto' or a number between 0 and 0.5. Found {estimator.hide!r}.")
    if estimator.hide == 0 and FAMILIES[estimator.model].guesses_directly:
        raise ArgumentError("hide", f"be above 0 with model={estimator.model!r}, which learns from hidden cells", "0")
    if estimator.missing != "at_random" and not FAMILIES[estimator.model].guesses_directly:
        needs = f"be 'at_random' with model={estimator.model!r}, which has no direct way"
        raise ArgumentError("missing", needs, repr(estimator.missing))
    seconds = estimator.max_seconds
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise ArgumentError("max_seconds", "be a number of seconds above 0, or None", repr(seconds))
    for name in ("trees", "rounded"):
        if not isinstance(arguments[name], bool | np.bool_):
            raise ArgumentError(name, "be True or False", repr(arguments[name]))
    for name in ("resample", "verbose"):
        if arguments[name] not in (True, False, "auto"):
            raise ValueError(f"{name} should be True, False or 'auto'. Found {arguments[name]!r}.")
    if not isinstance(estimator.schema, Schema | Mapping | None):
        raise ValueError(f"schema should be a Schema, a mapping or None. Found {estimator.schema!r}.")
    candidates(estimator.method, estimator.kl_weight)
