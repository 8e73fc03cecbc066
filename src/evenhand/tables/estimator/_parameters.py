"""What the arguments of an estimator may be."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ..schema import Schema
from ._candidates import NUMBER, candidates

if TYPE_CHECKING:
    from ._tabular_vae import TabularVAE


def check_parameters(estimator: TabularVAE) -> None:
    """Refuse arguments of the constructor that mean nothing, by name."""
    choices = {
        "model": ("vae", "hivae"),
        "objective": ("elbo", "iwae", "dreg"),
        "unsupported": ("error", "ignore"),
        "aggregate": ("mean", "median"),
    }
    for name, allowed in choices.items():
        if getattr(estimator, name) not in allowed:
            raise ValueError(f"{name} should be one of {', '.join(allowed)}. Found {getattr(estimator, name)!r}.")
    if estimator.model == "hivae" and estimator.objective != "elbo":
        raise ValueError(f"objective should be 'elbo' with model='hivae'. Found {estimator.objective!r}.")
    least = {"n_hidden": 1, "n_layers": 1, "n_samples": 1, "batch_size": 1, "patience": 1, "n_draws": 1}
    for name, smallest in {**least, "kl_warm_up": 0}.items():
        value = getattr(estimator, name)
        if not _is_integer(value) or value < smallest:
            raise ValueError(f"{name} should be an integer >= {smallest}. Found {value!r}.")
    for name in ("n_latent", "max_epochs"):
        value = getattr(estimator, name)
        if value is not None and (not _is_integer(value) or value < 1):
            raise ValueError(f"{name} should be an integer >= 1 or None. Found {value!r}.")
    for name in ("lr", "validation_fraction"):
        value = getattr(estimator, name)
        if not (isinstance(value, NUMBER) and 0 < value < 1):
            raise ValueError(f"{name} should be a number between 0 and 1. Found {value!r}.")
    if estimator.hide != "auto" and not (isinstance(estimator.hide, NUMBER) and 0 <= estimator.hide <= 0.5):
        raise ValueError(f"hide should be 'auto' or a number between 0 and 0.5. Found {estimator.hide!r}.")
    for name in ("resample", "verbose"):
        if getattr(estimator, name) not in (True, False, "auto"):
            raise ValueError(f"{name} should be True, False or 'auto'. Found {getattr(estimator, name)!r}.")
    if not isinstance(estimator.schema, Schema | Mapping | None):
        raise ValueError(f"schema should be a Schema, a mapping or None. Found {estimator.schema!r}.")
    candidates(estimator.method, estimator.kl_weight)


def check_number(name: str, value: Any) -> None:
    """Refuse what is not an integer from 1 on."""
    if not _is_integer(value) or value < 1:
        raise ValueError(f"{name} should be an integer >= 1. Found {value!r}.")


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
