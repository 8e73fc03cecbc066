"""What `at` may be: places in the graph where gradients of several losses meet, each with its block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from ._address import shape_at
from ._base_block import BaseBlock
from ._block import Block, as_complex, as_real, real_view
from ._catalogue import CATALOGUE, method_of
from ._find import FoundBlock
from ._method import Method
from ._output import Output
from ._parameter_block import ParameterBlock, check_whole, trained

At = Tensor | nn.Module | Output | FoundBlock
How = Method | BaseBlock | str

Rows = Sequence[Sequence[Tensor | None]]  # the gradients of T losses at the tensors of a place, None if not reached


class Place(ABC):
    """Tensors of the graph whose gradients are settled together.

    Attributes:
        name: What the user called it: "at", or "at[1]".
        edges: The tensors, as the graph knows them.
    """

    block: BaseBlock

    def __init__(self, name: str, edges: list[GradientEdge]) -> None:
        self.name = name
        self.edges = edges

    @abstractmethod
    def settle(self, rows: Rows) -> list[Tensor | None]:
        """The impartial sum of T gradients at every tensor; None where no loss reaches it."""


class Features(Place):
    """One tensor of the graph."""

    def __init__(self, name: str, edge: GradientEdge, how: How, y: Tensor | None) -> None:
        super().__init__(name, [edge])
        self.block = _block_for_features(name, how)
        self.block._check_axes(name, shape_at(edge.node, edge.output_nr))
        if self.block.method.uses_input and y is None:
            raise ValueError(
                f"{name} should be a tensor or the Output of a module: {self.block.method!r} looks at the features "
                "themselves, and a place from find_blocks knows only where they are."
            )
        self._y = y.detach() if y is not None and self.block.method.uses_input else None

    def settle(self, rows: Rows) -> list[Tensor | None]:
        incoming = [gradient for (gradient,) in rows]
        like = next((g for g in incoming if g is not None), None)
        if like is None or not like.is_complex():
            return [self.block._meet(incoming, self._y)]
        pairs = [None if g is None else as_real(g) for g in incoming]
        total = self.block._meet(pairs, None if self._y is None else as_real(self._y))
        return [None if total is None else as_complex(total, like.shape)]


class Parameters(Place):
    """Parameters, as one long vector."""

    def __init__(self, name: str, module: nn.Module, parameters: Sequence[Tensor], how: How) -> None:
        super().__init__(name, [get_gradient_edge(p) for p in parameters])
        self.block = _block_for_parameters(name, module, how)
        self._parameters = [real_view(p.detach()) for p in parameters]
        self._complex = [p.is_complex() for p in parameters]

    def settle(self, rows: Rows) -> list[Tensor | None]:
        uses = [[None if g is None else real_view(g) for g in use] for use in zip(*rows, strict=True)]
        totals = self.block._meet(self._parameters, uses)
        pairs = zip(totals, self._complex, strict=True)
        return [torch.view_as_complex(t) if t is not None and is_complex else t for t, is_complex in pairs]


def places_of(at: At | Sequence[At], how: How | Sequence[How], losses: Mapping[str, Tensor]) -> list[Place]:
    """The places that a user named, in the graph of these losses."""
    if isinstance(at, Sequence) and not isinstance(at, str):
        if not at:
            raise ValueError("at should be at least one place. Found none.")
        names = [f"at[{i}]" for i in range(len(at))]
    else:
        names, at = ["at"], [at]
    places = [
        _place(name, one, its_how, losses) for name, one, its_how in zip(names, at, _hows(how, len(at)), strict=True)
    ]
    for place in places:
        place.block.method.check_heads(len(losses))
    _check_apart(places)
    return places


def _place(name: str, at: At, how: How, losses: Mapping[str, Tensor]) -> Place:
    if isinstance(at, Output):
        at = at.take()
    if isinstance(at, Tensor):
        if not at.requires_grad:
            raise ValueError(f"{name} should be a tensor that requires gradients. Found one that does not.")
        return Features(name, get_gradient_edge(at), how, at)
    if isinstance(at, nn.Module):
        check_whole(at)
        return Parameters(name, at, _trained_parameters(name, at), how)
    if not isinstance(at, FoundBlock):
        raise ValueError(
            f"{name} should be a tensor, a module (its parameters), Output(module), a place from find_blocks, or a "
            f"list of these. Found {type(at).__name__}."
        )
    if at.address is not None:
        return Features(name, at.address.follow(losses), how, None)
    return Parameters(name, nn.ParameterList(at.parameters), at.parameters, how)


def _trained_parameters(name: str, module: nn.Module) -> list[Tensor]:
    parameters = list(trained(module))
    if not parameters:
        raise ValueError(
            f"{name} should be a module with parameters that require gradients. Found {type(module).__name__} "
            "without any; for what it returns, use Output(module)."
        )
    return parameters


def _hows(how: How | Sequence[How], n: int) -> list[How]:
    """A method or block for every place; what remembers something belongs to one place alone."""
    hows: list[How] = [how] * n if isinstance(how, str) or not isinstance(how, Sequence) else list(how)
    if len(hows) != n:
        raise ValueError(f"method should be one for all places or one for each of the {n}. Found {len(hows)}.")
    for i, one in enumerate(hows):
        remembers = isinstance(one, BaseBlock) or (isinstance(one, Method) and one.learns)
        if remembers and any(one is other for other in hows[:i]):
            raise ValueError(
                f"method should be one for each of the {n} places, as a list, where it keeps what it has seen. Found "
                f"{one!r} for several of them."
            )
    return hows


def _method(how: How) -> Method:
    try:
        method = method_of(how)  # type: ignore[arg-type]  # what is neither a name nor a method is refused there
    except ValueError:
        raise ValueError(
            "method should be a method such as IMTLG(), a Block for features, a ParameterBlock for parameters, or "
            f"one of {', '.join(CATALOGUE)}. Found {how!r}."
        ) from None
    if isinstance(how, str) and method.learns:
        raise ValueError(
            f"method should be an object that is made once and kept, such as {method!r}: it learns over time. "
            f"Found the name {how!r}, which makes a new one in every step."
        )
    return method


def _block_for_features(name: str, how: How) -> Block:
    if isinstance(how, BaseBlock) and not isinstance(how, Block):
        raise ValueError(
            f"method should be a method or a Block at {name}, which is a tensor. Found a {type(how).__name__}."
        )
    return how if isinstance(how, Block) else Block(_method(how))


def _block_for_parameters(name: str, module: nn.Module, how: How) -> ParameterBlock:
    if isinstance(how, BaseBlock) and not isinstance(how, ParameterBlock):
        raise ValueError(
            f"method should be a method or a ParameterBlock at {name}, which is parameters. Found a "
            f"{type(how).__name__}; for the output of a module, use at=Output(module)."
        )
    return how if isinstance(how, ParameterBlock) else ParameterBlock(module, _method(how))


def _check_apart(places: Sequence[Place]) -> None:
    """No place may lie before another: gradients that arrive there would already be settled."""
    if len(places) < 2:
        return
    for place in places:
        before = _before(place)
        for other in places:
            shared = other is not place and any((e.node, e.output_nr) in before for e in other.edges)
            if shared:
                raise ValueError(
                    f"{place.name} should not depend on {other.name}: gradients that reach {other.name} through "
                    f"{place.name} would already be settled. Found that it does; keep one of the two."
                )


def _before(place: Place) -> set[tuple[Node, int]]:
    """All tensors that a place was computed from, and the place itself."""
    seen = {(edge.node, edge.output_nr) for edge in place.edges}
    todo = list(seen)
    while todo:
        node, _ = todo.pop()
        new = {(n, i) for n, i in node.next_functions if n is not None} - seen
        seen |= new
        todo += new
    return seen
