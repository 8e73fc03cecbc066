"""From what a user passes to `fit` to a model that is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from ...common import ArgumentError, check_flag, check_integer, check_number, is_number
from ..rows import Modalities
from ..training import ImpartialMixture, Loop, Precision, amsgrad, make_fabric, products_in, without_remarks

if TYPE_CHECKING:
    from lightning_fabric import Fabric

LEARNING_RATE = 1e-3  # of AMSGrad
LOOKED_AT = 256  # items of a torch data set, before training

STACKED = (torch.Tensor, np.ndarray, np.generic, int, float)  # what torch makes batches of

Read = Callable[..., Modalities]
"""Reads what users pass as data, with ``observed`` as an option."""


@dataclass(frozen=True)
class Place:
    """Where to train and how precisely: said by the caller, or by the fabric that the caller brings."""

    fabric: Fabric | None
    device: str | torch.device
    precision: Precision
    logger: Any
    compile: bool

    def __post_init__(self) -> None:
        check_flag("compile", self.compile)
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
    learning_rate: float | None,
    **settings: Any,
) -> Loop:
    """Train; `MultimodalVAE.fit` says what the arguments are. Settings are those of `Loop`."""
    _check(settings)
    if learning_rate is not None:
        check_number("learning_rate", learning_rate)
    if optimizer is not None and not callable(optimizer):
        raise ArgumentError("optimizer", "be a function that makes one from parameters", type(optimizer).__name__)
    if optimizer is not None and learning_rate is not None:
        raise ArgumentError(
            "learning_rate", "be left out with an optimizer, which brings its own", repr(learning_rate)
        )
    rows, held_out = rows_for_fit(data, observed, validation, settings["seed"], read)
    with products_in(place.precision), without_remarks(place.fabric is None):
        fabric = place.fabric or make_fabric(place.device, place.precision, place.logger)
        make = optimizer or amsgrad(LEARNING_RATE if learning_rate is None else learning_rate, fabric)
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
    if settings["verbose"] != "auto":
        check_flag("verbose", settings["verbose"])


def checked_folder(folder: object) -> Path | None:
    """Where checkpoints go, if anywhere."""
    if not isinstance(folder, str | PathLike | None):
        raise ArgumentError("folder", "be a path, or None", repr(folder))
    return None if folder is None else Path(folder)


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
        _check_torch_data(data, observed, validation, read)
        return data, _validation_rows(validation, read)
    rows = _without_graph(read(data, observed=observed))
    if not is_number(validation):
        return rows, _validation_rows(validation, read)
    if not 0 < validation < 1:
        raise ValueError(f"validation should be a part of the rows between 0 and 1. Found {validation}.")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    number = max(1, round(validation * len(rows)))
    if number == len(rows):
        raise ValueError(f"validation should leave rows to train on. Found {validation} of {number} rows.")
    return rows.subset(order[number:]), rows.subset(order[:number])


def _validation_rows(validation: Any, read: Read) -> Modalities | None:
    if validation is None:
        return None
    rows = _without_graph(read(validation, what="validation"))
    if not len(rows):
        raise ArgumentError("validation", "have at least one row", "none")
    return rows


def _without_graph(rows: Modalities) -> Modalities:
    """Rows that other networks have computed are numbers here: nothing is learnt behind them."""
    return Modalities({name: x.detach() for name, x in rows.values.items()}, rows.index, rows.observed)


def _check_torch_data(data: Any, observed: Mapping[str, Any] | None, validation: Any, read: Read) -> None:
    if not (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        advice = " Pass its .dataset." if hasattr(data, "dataset") else ""
        found = type(data).__name__
        raise ValueError(f"data should be a dictionary of modalities by name, or a data set. Found {found}.{advice}")
    items = _some_items(data)
    if not items or not all(isinstance(item, Mapping) for item in items):
        found = next((type(item).__name__ for item in items if not isinstance(item, Mapping)), "none")
        raise ValueError(f"data should be a dictionary, or a data set of dictionaries. Found {found}.")
    if observed is not None:
        raise ValueError("observed should be left out where data are a torch data set, which has no holes.")
    if is_number(validation):
        raise ValueError("validation should be rows of their own where data are a torch data set.")
    for name in items[0]:
        for item in items:
            if not isinstance(item.get(name), STACKED):
                found = type(item.get(name)).__name__
                raise ValueError(f"{name!r} should be a tensor, an array or a number in every item. Found {found}.")
    rows = read({name: _stack(name, [item[name] for item in items]) for name in items[0]})
    if rows.observed:
        holes = next(iter(rows.observed))
        raise ValueError(f"{holes!r} should have no holes in a torch data set. Found NaN; pass a dictionary instead.")


def _stack(name: str, items: Sequence[Any]) -> torch.Tensor:
    try:
        return torch.stack([torch.as_tensor(item) for item in items]).detach().cpu()
    except RuntimeError as error:
        raise ValueError(f"{name!r} should have the same shape in every item. {error}") from error


def _some_items(data: Any) -> list[Any]:
    """The first item of a data set, the last one, and many between them."""
    places = np.linspace(0, len(data) - 1, min(len(data), LOOKED_AT)).astype(int).tolist()
    try:
        return [data[place] for place in places]
    except (LookupError, TypeError) as error:  # a frame, a dictionary of something else
        found = type(data).__name__
        raise ValueError(
            f"data should be a dictionary of modalities by name, or a data set. Found {found}."
        ) from error
