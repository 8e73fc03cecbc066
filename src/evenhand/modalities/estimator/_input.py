"""What users pass as multimodal data, in a form that the rest can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...common import ArgumentError
from ..likelihoods import Likelihood
from ..rows import Modalities

UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


def read_modalities(
    data: Modalities | Mapping[str, Any],
    likelihoods: Mapping[str, Likelihood],
    shapes: Mapping[str, tuple[int, ...]],
    observed: Mapping[str, Any] | None = None,
    *,
    partial: bool = False,
    what: str = "data",
) -> Modalities:
    """Tensors, arrays, lists and frames as `Modalities`; holes become masks.

    Args:
        data: The modalities by name. A row that is None, or that holds NaN, is missing; in a table a cell is.
        likelihoods: What the modalities are.
        shapes: The shapes of their items.
        observed: For some modalities, which rows have them.
        partial: Whether some modalities may be left out, as in rows that nothing is learnt from.
        what: What the user calls the data.
    """
    if isinstance(data, Modalities):
        _check_names(data.values, likelihoods, partial, what)
        if observed:
            raise ValueError("observed should be left out where data are Modalities, which have masks of their own.")
        return _with_something_in_every_row(_checked(data, likelihoods, shapes, learnt=not partial))
    if not isinstance(data, Mapping):
        raise ValueError(f"{what} should be a dictionary of modalities by name. Found {type(data).__name__}.")
    _check_names(data, likelihoods, partial, what)
    if not isinstance(observed, Mapping | None):
        raise ArgumentError("observed", "be masks of rows by modality", type(observed).__name__)
    values: dict[str, Tensor] = {}
    masks: dict[str, Tensor] = {}
    for name in [name for name in likelihoods if name in data]:
        values[name], there = _read(name, data[name], likelihoods[name], shapes[name])
        told = None if observed is None else observed.get(name)
        if told is not None:
            there = there & _mask(name, told, len(there)).to(there.device)
        if not there.all():
            masks[name] = there
        _check_values(name, values[name], there, likelihoods[name], learnt=not partial)
        values[name] = _hide(values[name], there, likelihoods[name].has_holes)
    for name in observed or {}:
        if name not in values:
            raise ValueError(
                f"observed should be about the modalities {', '.join(map(repr, values))}. Found {name!r}."
            )
    return _with_something_in_every_row(Modalities(values, observed=masks))


def _checked(
    rows: Modalities, likelihoods: Mapping[str, Likelihood], shapes: Mapping[str, tuple[int, ...]], *, learnt: bool
) -> Modalities:
    """The same rows, in the order of the model, once their values have been looked at."""
    rows = rows.only([name for name in likelihoods if name in rows.values])
    values = {}
    for name, items in rows.values.items():
        _check_items(name, items, shapes[name])
        used = _items_in_use(rows, name)
        _check_values(name, items, used, likelihoods[name], learnt=learnt)
        values[name] = _hide(items, used, likelihoods[name].has_holes)
    return Modalities(values, rows.index, rows.observed)


def _items_in_use(rows: Modalities, name: str) -> Tensor:
    """Which items ``[M]`` some row has."""
    index, mask, items = rows.index.get(name), rows.observed.get(name), rows.values[name]
    if index is None:
        return torch.ones(len(items), dtype=torch.bool, device=items.device) if mask is None else mask
    used = torch.zeros(len(items), dtype=torch.bool, device=items.device)
    used[index if mask is None else index[mask]] = True
    return used


def _with_something_in_every_row(rows: Modalities) -> Modalities:
    mask = rows.mask()
    if mask is not None and not mask.any(1).all():
        first = int((~mask.any(1)).nonzero()[0])
        raise ValueError(
            f"Every row should have at least one modality. Found row {first} with nothing observed"
            f" ({int((~mask.any(1)).sum())} such rows in all): take them out."
        )
    return rows


def _check_names(data: Mapping[str, Any], known: Mapping[str, Any], partial: bool, what: str) -> None:
    for name in data:
        if name not in known:
            raise ValueError(f"{what} should have the modalities {', '.join(map(repr, known))}. Found {name!r}.")
    absent = [name for name in known if name not in data]
    if not data:
        raise ValueError(
            f"{what} should have at least one of the modalities {', '.join(map(repr, known))}. Found none."
        )
    if absent and not partial:
        raise ValueError(
            f"{what} should have the modality {absent[0]!r}. If all of it is missing, give a list of None."
        )


def _read(name: str, data: Any, likelihood: Likelihood, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Values ``[N, *shape]`` and which rows are there ``[N]``."""
    if likelihood.has_holes:
        return _read_with_holes(name, data, likelihood, shape)
    given = None
    if isinstance(data, np.ma.MaskedArray):
        given = torch.from_numpy(~np.ma.getmaskarray(data).reshape(len(data), -1).any(1))
        data = data.filled(1)
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        given = torch.tensor([item is not None for item in data])
        data = _stack(name, data, shape)
    try:
        # a copy only of what torch cannot share: read-only arrays, and those with negative strides
        values = data if isinstance(data, Tensor) else torch.as_tensor(np.require(data, requirements=["C", "W"]))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name!r} should be a tensor, an array or a list of items. It cannot be read: {error}"
        ) from error
    if values.is_complex():
        raise ValueError(f"{name!r} should be real numbers. Found {values.dtype}.")
    if values.dtype in UNSIGNED:  # of which torch knows little
        values = values.to(torch.int64)
    _check_items(name, values, shape)
    there = torch.ones(len(values), dtype=torch.bool, device=values.device) if given is None else given
    if values.is_floating_point():
        values = values.to(torch.get_default_dtype())
        there = there & ~values.isnan().unsqueeze(-1).flatten(1).any(1)
    return values, there


def _read_with_holes(name: str, data: Any, likelihood: Likelihood, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """As `_read`; elements may be NaN, and a row is missing where all of them are."""
    if isinstance(data, list) and all(row is None for row in data):
        data = torch.full((len(data), *shape), torch.nan)
    if not isinstance(data, Tensor):
        try:
            data = likelihood.read(data)
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"The table {name!r} cannot be read: {error}") from error
    _check_items(name, data, shape)
    return data.to(torch.get_default_dtype()), ~data.isnan().all(-1)


def _stack(name: str, items: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """A list of items as one array; None becomes zeros."""
    try:
        present = [_as_array(item) for item in items if item is not None]
        empty = np.zeros(shape, dtype=present[0].dtype if present else np.float32)
        rows = iter(present)
        return np.stack([empty if item is None else next(rows) for item in items]) if len(items) else empty[None][:0]
    except ValueError as error:
        raise ValueError(f"The items of {name!r} should all have the shape {list(shape)}. {error}") from error


def _as_array(item: Any) -> Any:
    return item.detach().cpu().numpy() if isinstance(item, Tensor) else np.asarray(item)


def _check_items(name: str, values: Tensor, shape: tuple[int, ...]) -> None:
    if not values.ndim or tuple(values.shape[1:]) != tuple(shape):
        raise ValueError(
            f"{name!r} should have the shape [rows{''.join(f', {n}' for n in shape)}]. Found {list(values.shape)}."
        )


def _check_values(name: str, values: Tensor, there: Tensor, likelihood: Likelihood, *, learnt: bool) -> None:
    shown = values if there.all() else values[there]
    try:
        if not likelihood.has_holes and shown.is_floating_point() and not shown.isfinite().all():
            raise ValueError("values should be finite where a row has them. Found NaN or an infinite one.")
        likelihood.check_learnt(shown) if learnt else likelihood.check(shown)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from error


def _hide(values: Tensor, there: Tensor, has_holes: bool) -> Tensor:
    """The values with something harmless where nothing is there: NaN and infinity would spread through gradients."""
    if there.all():
        return values
    if has_holes:
        filling = torch.full((), torch.nan, dtype=values.dtype, device=values.device)
    else:  # an item that is there, since only the likelihood knows what it takes
        filling = values[there][0] if there.any() else torch.ones((), dtype=values.dtype, device=values.device)
    return torch.where(there.view(-1, *[1] * (values.ndim - 1)), values, filling)


def _mask(name: str, told: Any, n: int) -> Tensor:
    mask = told if isinstance(told, Tensor) else torch.tensor(np.asarray(told))
    if mask.dtype != torch.bool or mask.shape != (n,):
        raise ValueError(
            f"observed[{name!r}] should be boolean with one answer for each of {n} rows. "
            f"Found {mask.dtype} of shape {list(mask.shape)}."
        )
    return mask
