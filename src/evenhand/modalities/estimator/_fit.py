"""From what a user passes to `fit` to a model that is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ...common import ArgumentError, check_integer, check_number, is_number
from ..rows import Modalities
from ..training import ImpartialMixture, Loop, Precision, amsgrad, make_fabric, products_in, without_remarks

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Read = Callable[..., Modalities]
"""Reads what users pass as data, with ``observed`` as an option."""


@dataclass(frozen=True)
class Place:
    """Where to train and how precisely: said by the caller, or by the fabric that the caller brings."""

    fabric: Fabric | None
    device: str
    precision: Precision
    logger: Any
    compile: bool

    def __post_init__(self) -> None:
        if self.compile and self.precision == "16":
            raise ValueError("precision should be 'bf16' with compile=True: a gradient scaler looks at numbers.")
        own = self.device == "auto" and self.precision in ("32", "tf32") and self.logger is None
        if self.fabric is not None and not own:
            raise ValueError("device, precision and logger should be left out with a fabric, which brings its own.")


def train(
    core: ImpartialMixture,
    data: Any,
    place: Place,
    read: Read,
    *,
    observed: Mapping[str, Any] | None,
    validation: Any,
    optimizer: Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer] | None,
    learning_rate: float,
    **settings: Any,
) -> Loop:
    """Train; `MultimodalVAE.fit` says what the arguments are. Settings are those of `Loop`."""
    _check(settings)
    check_number("learning_rate", learning_rate)
    if optimizer is not None and not callable(optimizer):
        raise ArgumentError("optimizer", "be a function that makes one from parameters", type(optimizer).__name__)
    rows, held_out = rows_for_fit(data, observed, validation, settings["seed"], read)
    with products_in(place.precision), without_remarks(place.fabric is None):
        fabric = place.fabric or make_fabric(place.device, place.precision, place.logger)
        make = optimizer or amsgrad(learning_rate, fabric)
        loop = Loop(core, rows, fabric, make, validation=held_out, compile=place.compile, **settings)
        loop.run()
    return loop


def _check(settings: Mapping[str, Any]) -> None:
    for name in ("epochs", "batch_size"):
        check_integer(name, settings[name])
    for name in ("checkpoint_every", "log_every"):
        check_integer(name, settings[name], optional=True)
    for name in ("kl_warm_up", "learning_rate_warm_up"):
        if not is_number(settings[name]):
            raise ArgumentError(name, "be a number of epochs", repr(settings[name]))
    for name in ("clip_norm", "clip_expert_norm"):
        if settings[name] is not None:
            check_number(name, settings[name], above=True)


def rows_for_fit(
    data: Any, observed: Mapping[str, Any] | None, validation: Any, seed: int, read: Read
) -> tuple[Any, Modalities | None]:
    """The rows to train on, `Modalities` or a torch data set, and those for validation, if any.

    Args:
        data: What the user passed.
        observed: Which rows have a modality.
        validation: Rows, or the part of the rows.
        seed: Of the choice of that part.
        read: Makes `Modalities` of what users pass.
    """
    if not isinstance(data, Modalities | Mapping):
        _check_torch_data(data, observed, validation)
        read({name: torch.as_tensor(x)[None] for name, x in data[0].items()})  # the first row says whether it fits
        return data, None if validation is None else read(validation)
    rows = read(data, observed=observed)
    if not isinstance(validation, int | float):
        return rows, None if validation is None else read(validation)
    if not 0 < validation < 1:
        raise ValueError(f"validation should be a part of the rows between 0 and 1. Found {validation}.")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    number = max(1, round(validation * len(rows)))
    if number == len(rows):
        raise ValueError(f"validation should leave rows to train on. Found {validation} of {number} rows.")
    return rows.subset(order[number:]), rows.subset(order[:number])


def _check_torch_data(data: Any, observed: Mapping[str, Any] | None, validation: Any) -> None:
    if not (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        advice = " Pass its .dataset." if hasattr(data, "dataset") else ""
        found = type(data).__name__
        raise ValueError(f"data should be a dictionary of modalities by name, or a data set. Found {found}.{advice}")
    if not len(data) or not isinstance(data[0], Mapping):
        first = type(data[0]).__name__ if len(data) else "none"
        raise ValueError(f"data should be a dictionary, or a data set of dictionaries. Found {first}.")
    if observed is not None:
        raise ValueError("observed should be left out where data are a torch data set, which has no holes.")
    if isinstance(validation, int | float):
        raise ValueError("validation should be rows of their own where data are a torch data set.")
