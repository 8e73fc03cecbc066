"""The backward pass of several losses in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

import torch
from torch import Tensor
from torch._compile import _disable_dynamo

from ._impartial_sum import make_sum
from ._places import At, How
from ._reading import Reading


@overload
def backward(losses: Mapping[str, Tensor] | Sequence[Tensor], *, at: At, method: How) -> Reading: ...


@overload
def backward(
    losses: Mapping[str, Tensor] | Sequence[Tensor], *, at: Sequence[At], method: How | Sequence[How]
) -> list[Reading]: ...


@_disable_dynamo  # as `impartial_sum`
def backward(
    losses: Mapping[str, Tensor] | Sequence[Tensor],
    *,
    at: At | Sequence[At],
    method: How | Sequence[How],
) -> Reading | list[Reading]:
    """Back-propagate several losses impartially, in place of ``sum(losses).backward()``.

    The gradients of the losses are settled at the places `at` of a model that need not be edited, as if a `Block`
    stood there; see `impartial_sum`, of which this is the backward pass.

    Args:
        losses: The losses by name, or a list of them.
        at: A tensor of the model, a module (its parameters), `Output(module)`, a place from `find_blocks`, or a list.
        method: A method, its name, or a block; a list has one for each place.

    Returns:
        What was read at the place: norms, cosines, weights and shares of the losses; a list of readings if `at` is a
        list.

    Example:
        >>> import torch
        >>> from evenhand import IMTLG, backward
        >>> encoder, heads = torch.nn.Linear(3, 4), [torch.nn.Linear(4, 1) for _ in range(2)]
        >>> y = encoder(torch.ones(5, 3))
        >>> losses = {name: head(y).square().mean() for name, head in zip(("age", "region"), heads)}
        >>> reading = backward(losses, at=y, method=IMTLG())
        >>> reading.shares
        tensor([0.5000, 0.5000])
    """
    with torch.enable_grad():  # as `Tensor.backward`, it also works where nothing is recorded
        total, settlement = make_sum(losses, at, method, alone=True)
    try:
        total.backward()
    finally:
        settlement.close()
    readings = [place.block.last for place in settlement.places]
    return readings if isinstance(at, Sequence) else readings[0]
