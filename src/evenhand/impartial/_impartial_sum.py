"""The sum of several losses whose backward pass is impartial at given places of any model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch._compile import _disable_dynamo
from torch.autograd import Variable
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.utils.hooks import RemovableHandle

from ._base_block import BaseBlock, neutral_in_this_thread
from ._block import dense
from ._graph import parameter_of
from ._guards import check_plain_autograd, forbid_double_backward
from ._losses import check_learning, named_losses
from ._method import Method
from ._places import At, How, Place, places_of


@_disable_dynamo  # it works on the graph of autograd, which a compiler does not see
def impartial_sum(
    losses: Mapping[str, Tensor] | Sequence[Tensor],
    *,
    at: At | Sequence[At],
    method: How | Sequence[How],
) -> Tensor:
    r"""The sum of the losses, as a tensor whose backward pass is impartial at the places `at`.

    For trainers that call ``backward`` themselves; in a loop of your own, `backward` is shorter. Whatever happens to
    the result, such as a division for accumulation or `torch.amp.GradScaler`, happens to all gradients. Other terms
    may be added to it: they take no part in the settlement, and their gradients are passed on as they are. Where no
    gradients are recorded it is just the sum.

    Backward, the gradients :math:`g_1, \dots, g_T` of the losses are computed at the places only. The method settles
    them there, and one ordinary backward pass runs in which every place passes on :math:`\sum_t \tilde g_t` instead
    of :math:`\sum_t g_t`. What lies between places and losses gets plain gradients.

    Args:
        losses: The losses by name, or a list of them; each has one number. One that does not reach a place has no
            gradient there and is left out.
        at: A tensor of the model; a module, whose parameters are meant; `Output(module)`; a place from
            `find_blocks`; or a list of places, none of them computed from another.
        method: A method or its name; or a `Block` (for parameters a `ParameterBlock`) made before training, which has
            options and can be read and monitored. A list has one for each place.

    Example:
        >>> from evenhand import IMTLG, impartial_sum
        >>> y = torch.ones(4, 3, requires_grad=True)
        >>> loss = impartial_sum([y[:, 0].sum(), 100 * y[:, 1].sum()], at=y, method=IMTLG())
        >>> loss.backward()
        >>> y.grad[0]
        tensor([70.7142, 70.7142,  0.0000])
    """
    if not torch.is_grad_enabled():  # as in the evaluation step of a trainer
        return _value(*named_losses(losses).values())
    return make_sum(losses, at, method)[0]


def make_sum(
    losses: Mapping[str, Tensor] | Sequence[Tensor],
    at: At | Sequence[At],
    how: How | Sequence[How],
    *,
    alone: bool = False,
) -> tuple[Tensor, Settlement]:
    """The impartial sum, and the settlement that its backward pass will make; see `Settlement` for `alone`."""
    named = named_losses(losses)
    check_plain_autograd(*named.values())
    places = places_of(at, how, named)
    check_learning(named)
    named = _in_known_order(named, places)
    settlement = Settlement(named, places, alone)
    return _ImpartialSum.apply(settlement, *named.values()), settlement


def _in_known_order(losses: dict[str, Tensor], places: Sequence[Place]) -> dict[str, Tensor]:
    """The losses as a block knows their names, since methods remember heads by their place."""
    known = next((names for place in places if (names := _names_at(place.block))), None)
    return {name: losses[name] for name in known} if known and set(known) == set(losses) else losses


_names_of: WeakKeyDictionary[Method, tuple[str, ...]] = WeakKeyDictionary()
"""The losses that methods have met, also those without a block that stays."""


def _names_at(block: BaseBlock) -> tuple[str, ...] | None:
    return block.head_names or _names_of.get(block.method)


class _ImpartialSum(torch.autograd.Function):
    """A sum whose backward pass first settles what the ordinary one, which goes on from here, will meet."""

    @staticmethod
    def forward(ctx: Any, settlement: Settlement, *losses: Tensor) -> Tensor:
        ctx.settlement = settlement
        ctx.likes = [(loss.shape, loss.dtype, loss.device) for loss in losses]
        return _value(*losses)

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> Any:
        kinds = {like: scale.reshape(like[0]).to(like[2], like[1]) for like in set(ctx.likes)}
        scales = [kinds[like] for like in ctx.likes]
        ctx.settlement.prepare(scales)
        return None, *scales


def _value(*losses: Tensor) -> Tensor:
    return torch.stack([loss.reshape(()).to(losses[0].device) for loss in losses]).sum()


class Settlement:
    """Gradients of T losses, settled at places, and laid where the backward pass that is under way will come by.

    Args:
        losses: The losses.
        places: Where their gradients are settled.
        alone: Whether nothing but these losses is differentiated, so that a place is reached by nothing else.
    """

    def __init__(self, losses: Mapping[str, Tensor], places: list[Place], alone: bool) -> None:
        self.places = places
        self._names = tuple(losses)
        # their places in the graph; the numbers have served
        self._roots = [get_gradient_edge(loss) if loss.requires_grad else None for loss in losses.values()]
        self._alone = alone
        devices = {loss.device.type for loss in losses.values()}
        self._in_half = any(torch.is_autocast_enabled(device) for device in devices)
        self._handles: list[RemovableHandle] = []

    def prepare(self, scales: Sequence[Tensor]) -> None:
        """Settle now, inside of a backward pass; each place replaces its gradient later in the same pass."""
        self.close()
        rows = self._gradients(scales)
        together = self._together(rows, scales)
        replacements = []
        start = 0
        for place in self.places:  # all are settled before the first hook is set
            end = start + len(place.edges)
            here = [row[start:end] for row in rows]
            replacements += self._settle(place, here, together[start:end])
            start = end
        self._handles = [_replace_once(*replacement) for replacement in replacements]
        # for places that this pass does not come by, as when only gradients of heads are asked for
        Variable._execution_engine.queue_callback(self.close)

    def close(self) -> None:
        """Remove the hooks that are still there."""
        while self._handles:
            self._handles.pop().remove()

    __del__ = close

    def _gradients(self, scales: Sequence[Tensor]) -> list[Sequence[Tensor | None]]:
        """The gradients of every loss at the tensors of all places: no further, and not of weights on the way."""
        edges = tuple(edge for place in self.places for edge in place.edges)
        nothing = [None] * len(edges)
        with neutral_in_this_thread():  # blocks on the way have to settle nothing, with one loss at a time
            return [
                nothing if root is None else _gradients_at(edges, [root], [scale])
                for root, scale in zip(self._roots, scales, strict=True)
            ]

    def _together(self, rows: Sequence[Sequence[Tensor | None]], scales: Sequence[Tensor]) -> Sequence[Tensor | None]:
        """What all losses bring in one pass, with its rounding, where half precision makes that large; else None.

        Otherwise other terms could not be told from rounding: the sum of gradients of single losses has another one.
        """
        half = self._in_half or any(g is not None and _is_half(g) for row in rows for g in row)
        edges = tuple(edge for place in self.places for edge in place.edges)
        if self._alone or not half:
            return [None] * len(edges)
        pairs = [(root, scale) for root, scale in zip(self._roots, scales, strict=True) if root is not None]
        with neutral_in_this_thread():
            return _gradients_at(edges, [root for root, _ in pairs], [scale for _, scale in pairs])

    def _settle(
        self, place: Place, rows: Sequence[Sequence[Tensor | None]], together: Sequence[Tensor | None]
    ) -> list[tuple[GradientEdge, Tensor, Plain | None]]:
        """The edges of a place that losses reach, what they will pass on, and what they would have."""
        place.block.head_names = _names_of[place.block.method] = self._names
        totals = place.settle(rows)
        brought = zip(together, zip(*rows, strict=True), strict=True)
        reached = [
            (edge, total, what)
            for edge, total, what in zip(place.edges, totals, brought, strict=True)
            if total is not None
        ]
        if not reached:
            raise ValueError(
                f"{place.name} should be computed on the way to one of the losses. Found that none of "
                f"{', '.join(map(repr, self._names))} depends on it. If torch.compile has made one graph of the "
                "place and the losses, name the place as Output(module), which divides the graph there. The same "
                "helps where a trainer has wrapped the model, so that what it returns are copies."
            )
        return [(edge, total, None if self._alone else Plain.of(*what)) for edge, total, what in reached]


def _gradients_at(
    edges: tuple[GradientEdge, ...], roots: Sequence[GradientEdge], scales: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    # what torch.autograd.grad does, without preparations that take as long as the gradients of a small head
    return Variable._execution_engine.run_backward(
        tuple(roots), tuple(scales), True, False, edges, allow_unreachable=True, accumulate_grad=False
    )


@dataclass(frozen=True)
class Plain:
    """What reaches a tensor from all losses in an ordinary backward pass.

    Attributes:
        total: Their sum.
        rounding: How long a sum may be that is nothing but its rounding.
    """

    total: Tensor
    rounding: Tensor

    @classmethod
    def of(cls, together: Tensor | None, gradients: Sequence[Tensor | None]) -> Plain:
        """Of what all losses bring in one pass, if that is known, or of the gradients of each."""
        if together is not None:
            return cls(dense(together), torch.zeros((), device=together.device))
        # the last comes first, as in that pass, so that rounding is the same
        brought = [dense(g) for g in reversed(gradients) if g is not None]
        digits = torch.finfo(brought[0].dtype).eps * 16
        return cls(reduce(add, brought), digits * reduce(add, map(_length, brought)))

    def others(self, arrived: Tensor) -> Tensor:
        """What has arrived from other terms; nothing where that is no more than rounding.

        Where settled gradients are much shorter than plain ones, the rounding of these would drown them.
        """
        rest = arrived - self.total
        return torch.where(_length(rest) <= self.rounding, torch.zeros_like(rest), rest)


def _length(gradient: Tensor) -> Tensor:
    # squares of half precision overflow
    return torch.linalg.vector_norm(gradient.float() if _is_half(gradient) else gradient)


def _is_half(gradient: Tensor) -> bool:
    return torch.finfo(gradient.dtype).bits < 32


def _replace_once(edge: GradientEdge, settled: Tensor, plain: Plain | None) -> RemovableHandle:
    """Let a tensor pass on what was settled, in the backward pass that is under way and in no other.

    Args:
        edge: The tensor.
        settled: What it passes on.
        plain: What the losses bring; the rest comes from other terms and is passed on, too. None if there are none.
    """
    this_pass = torch._C._current_graph_task_id()

    def passed_on(arrived: Tensor) -> Tensor | None:
        if torch._C._current_graph_task_id() != this_pass:
            return None
        handle.remove()
        total = settled if plain is None else settled + plain.others(dense(arrived))
        if arrived.is_sparse:  # a hook may not change that
            total = total.to_sparse(arrived.sparse_dim())
        return forbid_double_backward([total], [arrived])[0]

    def replace(incoming: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...] | None:
        arrived = incoming[edge.output_nr]
        assert arrived is not None
        result = passed_on(arrived)
        return None if result is None else (*incoming[: edge.output_nr], result, *incoming[edge.output_nr + 1 :])

    leaf = parameter_of(edge.node)
    # torch.autograd.grad takes the gradients of leaves before they come to the hooks of their nodes
    handle = edge.node.register_prehook(replace) if leaf is None else leaf.register_hook(passed_on)
    return handle
